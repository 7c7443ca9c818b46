"""What of a stored message is searched: its texts, the names of its tools, their arguments and results."""

from collections.abc import Iterator
from typing import Any

import orjson

TEXTS = ("error", "context", "decision", "rationale")


def searched_text(body: str) -> str:
    return "\n".join(part for part in _parts(orjson.loads(body)) if part)


def tools_in(body: str) -> list[str]:
    """The names of the tools that a message calls, or that it was written by."""
    if '"tool' not in body and '"name"' not in body:
        return []
    parsed = orjson.loads(body)
    names = [parsed.get("tool"), parsed.get("name"), *map(_name, parsed.get("tool_calls") or ())]
    return [name for name in names if name]


def _parts(body: dict[str, Any]) -> Iterator[str]:
    content = _content(body.get("content"))
    yield _unescaped(content) if body.get("role") == "tool" else content
    for field in TEXTS:
        yield body.get(field) or ""
    yield body.get("tool") or ""
    yield _json(body.get("args"))
    yield _unescaped(_json(body.get("result")))
    for call in body.get("tool_calls") or ():
        yield _name(call)
        yield _unescaped(_json(call["function"].get("arguments")))
    if body.get("role") == "tool":
        yield body.get("name") or ""


def _unescaped(text: str) -> str:
    """Programs write JSON with `\\u5317` for what people read and look for as 北."""
    if "\\u" not in text or text[:1] not in ("{", "["):
        return text
    try:
        return _json(orjson.loads(text))
    except orjson.JSONDecodeError:
        return text


def _name(call: dict[str, Any]) -> str:
    name: str = call["function"]["name"]
    return name


def _content(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(text for block in content if (text := _block(block)))
    return _json(content)


def _block(block: Any) -> str:
    """Of a block that somebody else's provider may have made up."""
    if not isinstance(block, dict):
        return _json(block)
    for field in ("text", "thinking", "content", "input"):
        if block.get(field):
            return _content(block[field]) if field == "content" else _json(block[field])
    return ""


def _json(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return orjson.dumps(value).decode()
