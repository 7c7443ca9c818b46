from collections.abc import Iterator
from typing import Any

import orjson

from sessions_app.transcripts.reading import Transcript

ENDING = "json"
CONTENT_TYPE = "application/json"
CALLS = "tool_use"


def write(given: Transcript) -> Iterator[bytes]:
    """Messages whose roles alternate: neighbours of one role are one message, results are the user's.

    The system texts come last: by then the whole session has been read, and nothing had to be kept."""
    system: list[str] = []
    yield b'{"messages":['
    separator = b"\n"
    for role, blocks in _merged(given, system):
        yield separator + orjson.dumps({"role": role, "content": blocks})
        separator = b",\n"
    yield b'\n],"system":' + orjson.dumps(given.shown("\n\n".join(system) or None)) + b"}\n"


def _merged(given: Transcript, system: list[str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    current, blocks = "", list[dict[str, Any]]()
    for message in given.messages():
        if message["role"] == "system":
            system.append(_text(message.get("content")))
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        if role != current and blocks:
            yield current, blocks
            blocks = []
        current = role
        blocks.extend(_blocks(message))
    if blocks:
        yield current, blocks


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if message["role"] == "tool":
        return [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content or ""}]
    thinking = (message.get("metadata") or {}).get("thinking_blocks")
    blocks = list(thinking) if isinstance(thinking, list) else []
    if isinstance(content, str) and content:
        blocks.append({"type": "text", "text": content})
    elif isinstance(content, list):
        blocks.extend(content)
    for call in message.get("tool_calls") or ():
        blocks.append(
            {"type": CALLS, "id": call["id"], "name": call["function"]["name"], "input": _input(call)}
        )
    return blocks or [{"type": "text", "text": "(empty)"}]


def _input(call: dict[str, Any]) -> Any:
    arguments = call["function"].get("arguments")
    if isinstance(arguments, dict):
        return arguments
    try:
        found = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        return {"arguments": arguments}
    return found if isinstance(found, dict) else {"arguments": found}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else orjson.dumps(content).decode()
