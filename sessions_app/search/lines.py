"""What was found as lines for an agent's prompt. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

TEXT = 200
RESULT = 100


def lines(typed: str, items: Sequence[Mapping[str, Any]]) -> str:
    if not items:
        return f"No session history found matching '{typed}'."
    return "\n".join([f"Found {len(items)} result(s) for '{typed}':", *map(_line, items)])


def _line(item: Mapping[str, Any]) -> str:
    return f"[{item['created_at'][:19]}] {_said(item)} ({_one_line(item['session_key'], TEXT)})"


def _said(item: Mapping[str, Any]) -> str:
    if item["kind"] == "tool_call":
        return f"tool:{item['tool']} → {_one_line(item['result'], RESULT)}"
    if item["kind"] == "error":
        return f"ERROR: {_one_line(item['error'], TEXT)}"
    if item["kind"] == "decision":
        return f"DECIDED: {_one_line(item['decision'], TEXT)}"
    return f"{item['role']}: {_one_line(item['text'], TEXT)}"


def _one_line(value: Any, most: int) -> str:
    """A line is one entry, whatever was written in it; what is cut ends in an ellipsis."""
    text = value if isinstance(value, str) else "" if value is None else orjson.dumps(value).decode()
    text = " ".join(text[: most * 8].split())
    return text if len(text) <= most else f"{text[:most]}…"
