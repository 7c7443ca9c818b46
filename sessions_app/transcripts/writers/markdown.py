import re
from collections.abc import Iterator
from typing import Any

import orjson

from sessions_app.transcripts.reading import Transcript

ENDING = "md"
CONTENT_TYPE = "text/markdown; charset=utf-8"
HEADINGS = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool result"}
FENCES = re.compile(r"^`{3,}", re.MULTILINE)


def write(given: Transcript) -> Iterator[bytes]:
    """To be read by people: everything that was recorded, errors and decisions included."""
    session = given.session
    begun, ended = (
        moment.astimezone(given.zone).isoformat(" ", "seconds")
        for moment in (session.created_at, session.updated_at)
    )
    lines = [
        f"# {_line(session.title or session.key)}",
        "",
        f"- Session: `{session.uid}`",
        f"- Key: `{_line(session.key)}`",
        f"- From {begun} to {ended}",
    ]
    if session.summary:
        lines += ["", "## Summary", "", session.summary]
    yield given.shown("\n".join(lines) + "\n").encode()
    for message in given.messages(only=None):
        at = message["created_at"].astimezone(given.zone).isoformat(" ", "seconds")
        hidden = " (hidden)" if message["hidden_by"] else ""
        yield given.shown(f"\n## {_heading(message)} · {at}{hidden}\n\n{_body(message)}\n").encode()


def _heading(message: dict[str, Any]) -> str:
    if message["kind"] == "tool_call":
        return f"Tool call: {_line(str(message['tool']))}"
    return HEADINGS[message["role"]] if message["kind"] == "message" else message["kind"].title()


def _body(message: dict[str, Any]) -> str:
    if message["kind"] == "message":
        return "\n\n".join(filter(None, _said(message)))
    if message["kind"] == "error":
        return "\n\n".join(filter(None, (message["error"], message.get("context"))))
    if message["kind"] == "decision":
        return "\n\n".join(filter(None, (message["decision"], message.get("rationale"))))
    parts = [_fenced(message["args"], "json")] if message.get("args") is not None else []
    return "\n\n".join([*parts, _fenced(message.get("result"), "")])


def _said(message: dict[str, Any]) -> Iterator[str]:
    if message.get("reasoning_content"):
        yield "> " + str(message["reasoning_content"]).replace("\n", "\n> ")
    content = message.get("content")
    if message["role"] == "tool":
        yield _fenced(content, "")
    elif isinstance(content, str):
        yield content
    else:
        for block in content or ():
            yield block["text"] if isinstance(block.get("text"), str) else _fenced(block, "json")
    for path in message.get("media") or ():
        yield f"![]({path})"
    for call in message.get("tool_calls") or ():
        yield f"Calls `{call['function']['name']}`:\n\n" + _fenced(call["function"].get("arguments"), "json")


def _fenced(value: Any, language: str) -> str:
    """Behind more backticks than it has itself, so that it cannot end its own block."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    longest = max((len(found) for found in FENCES.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _line(text: str) -> str:
    return " ".join(text.split())
