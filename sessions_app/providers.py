"""A window in the form that a model provider takes: OpenAI chat messages, or Anthropic's."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import orjson

from sessions_app.entries import PROVIDER_FIELDS, PROVIDER_NAME
from sessions_app.window import STAND_IN, Placed, Window

JSON = dict[str, Any]
NOTHING_SAID = "[empty message]"
CONVERSATION_STARTS = "[The conversation starts with a message that nobody asked for.]"
ANTHROPIC_ID = re.compile(r"[^a-zA-Z0-9_-]")
ANTHROPIC_NAME_LENGTH = 128
TEXT_BLOCKS = frozenset({"text", "input_text", "output_text"})
IMAGE_BLOCKS = frozenset({"image", "image_url", "input_image"})
THOUGHTS = frozenset({"thinking", "redacted_thinking"})
# What OpenAI takes beside texts, by role; everything else is told in a text.
OPENAI_PARTS = {"user": frozenset({"input_audio", "file"}), "assistant": frozenset({"refusal"})}
OPENAI_PICTURES = ("https://", "http://", "data:")
OPENAI_NAME_LENGTH = 64
NAMELESS = "unnamed"
DATA_URL = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,")
LINE_BREAKS = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


class Source(NamedTuple):
    """One message of the record, ready to be shown; `plain` ones are sent as the stored text."""

    seq: int
    stored: str | None
    body: JSON | None
    media: Sequence[str] = ()
    proactive: bool = False
    created_at: datetime | None = None


def openai(window: Window, sources: Sequence[Source], clock: ZoneInfo | None) -> list[Any]:
    """`clock` is the zone of the `[Message Time: …]` lines, None for no lines."""
    return [_openai(placed, _source(placed, sources), clock) for placed in window.placed]


def _source(placed: Placed, sources: Sequence[Source]) -> Source | None:
    return None if placed.place is None else sources[placed.place]


def _openai(placed: Placed, source: Source | None, clock: ZoneInfo | None) -> Any:
    if source is not None and source.body is None and clock is None:
        return orjson.Fragment(source.stored or "")
    message = _shown(placed, source, clock)
    content = message["content"]
    if isinstance(content, list):
        content = [part for block in content if (part := _part(block, message["role"]))] or None
    if name := message.pop("name", ""):
        message["name"] = "_".join(PROVIDER_NAME.findall(name))[:OPENAI_NAME_LENGTH] or NAMELESS
    # A provider takes no content at all only beside tool calls.
    message["content"] = "" if content is None and not placed.calls else content
    return message


def _shown(placed: Placed, source: Source | None, clock: ZoneInfo | None) -> JSON:
    """A message of the window with all that is added to it, its content blocks still as they were stored."""
    if source is None:
        return {"role": "tool", "tool_call_id": placed.answers, "content": STAND_IN}
    if source.body is None:
        source = source._replace(body=orjson.loads(source.stored or ""))
    return _adapted(placed, source, clock)


def _adapted(placed: Placed, source: Source, clock: ZoneInfo | None) -> JSON:
    body = source.body or {}
    message = {name: body[name] for name in PROVIDER_FIELDS if name in body}
    if placed.calls:
        message["tool_calls"] = [
            {"type": "function", **call, "id": own, "function": _function(call["function"])}
            for call, own in zip(message["tool_calls"], placed.calls, strict=True)
        ]
    if placed.answers:
        message["tool_call_id"] = placed.answers
    content = message.get("content")
    if message["role"] == "user" and source.media:
        content = _with_media(content, source.media)
    if (
        clock is not None
        and source.created_at is not None
        and (message["role"] == "user" or source.proactive)
    ):
        content = _with_line(content, f"[Message Time: {_local(source.created_at, clock)}]")
    message["content"] = content
    return message


def _function(function: JSON) -> JSON:
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments or {}).decode()
    return {**function, "arguments": text}


def _part(block: JSON, role: str) -> JSON | None:
    kind = block["type"]
    if kind in TEXT_BLOCKS:
        return _text(block)
    if kind in OPENAI_PARTS.get(role, ()):
        return block
    if kind in IMAGE_BLOCKS:
        url = _picture(block)
        if url is None or role != "user" or not url.startswith(OPENAI_PICTURES):
            return _mention(url)
        return block if kind == "image_url" else {"type": "image_url", "image_url": {"url": url}}
    return None if kind in THOUGHTS else {"type": "text", "text": orjson.dumps(block).decode()}


def _text(block: JSON) -> JSON | None:
    # An empty or blank text block is refused.
    text = block.get("text")
    return {"type": "text", "text": text} if isinstance(text, str) and text.strip() else None


def _picture(block: JSON) -> str | None:
    """Where an image is, or the image itself in a data URL, of a block in the form of either provider."""
    if isinstance(source := block.get("source"), dict) and source.get("type") == "base64":
        return f"data:{source.get('media_type')};base64,{source.get('data')}"
    given = block.get("image_url") or source
    url = given.get("url") if isinstance(given, dict) else given
    return url if isinstance(url, str) else None


def _mention(url: str | None) -> JSON:
    known = url is not None and not url.startswith("data:")
    return {"type": "text", "text": f"[image: {_one_line(url or '')}]" if known else "[image]"}


def _one_line(text: str) -> str:
    return LINE_BREAKS.sub(" ", text)


def _with_media(content: Any, media: Sequence[str]) -> Any:
    lines = "\n".join(f"[image: {_one_line(path)}]" for path in media)
    if isinstance(content, list):
        return [*content, {"type": "text", "text": lines}]
    return f"{content}\n{lines}" if content else lines


def _with_line(content: Any, line: str) -> Any:
    if isinstance(content, list):
        return [{"type": "text", "text": line}, *content]
    return f"{line}\n{content}" if content else line


def _local(moment: datetime, zone: ZoneInfo) -> str:
    return moment.astimezone(zone).isoformat(timespec="seconds")


def anthropic(
    window: Window, sources: Sequence[Source], clock: ZoneInfo | None
) -> tuple[str | None, list[JSON]]:
    """System texts are lifted out; results stand in user turns; roles alternate and start with the user."""
    system: list[str] = []
    messages: list[JSON] = []
    ids = _AnthropicIds()
    for placed in window.placed:
        message = _shown(placed, _source(placed, sources), clock)
        if message["role"] == "system":
            system.append(_plain_text(message["content"]).strip())
        elif blocks := _blocks(message, ids):
            _add(messages, "assistant" if message["role"] == "assistant" else "user", blocks)
    if messages and messages[0]["role"] == "assistant":
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": CONVERSATION_STARTS}]})
    return "\n\n".join(filter(None, system)) or None, messages


def _add(messages: list[JSON], role: str, blocks: list[JSON]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": blocks})


def _blocks(message: JSON, ids: "_AnthropicIds") -> list[JSON]:
    if message["role"] == "tool":
        content = _content_blocks(message["content"], "tool")
        return [
            {"type": "tool_result", "tool_use_id": ids[message["tool_call_id"]]}
            | ({"content": content} if content else {})
        ]
    blocks = _content_blocks(message["content"], message["role"])
    for call in message.get("tool_calls", ()):
        blocks.append(
            {
                "type": "tool_use",
                "id": ids[call["id"]],
                "name": ANTHROPIC_ID.sub("_", call["function"]["name"])[:ANTHROPIC_NAME_LENGTH],
                "input": _input(call["function"]["arguments"]),
            }
        )
    if not blocks and message["role"] == "user":
        blocks = [{"type": "text", "text": NOTHING_SAID}]
    return blocks


def _content_blocks(content: Any, role: str) -> list[JSON]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return [block for given in content or () if (block := _block(given, role)) is not None]


def _block(block: JSON, role: str) -> JSON | None:
    kind = block["type"]
    if kind in TEXT_BLOCKS:
        return _text(block)
    if kind in IMAGE_BLOCKS:
        return _mention(_picture(block)) if role == "assistant" else _image(_picture(block))
    if kind in THOUGHTS:
        # They are taken back only as they were given out, signed.
        return block if role == "assistant" and (block.get("signature") or block.get("data")) else None
    if kind in ("document", "search_result"):
        return block if role != "assistant" else {"type": "text", "text": f"[{kind}]"}
    return {"type": "text", "text": orjson.dumps(block).decode()}


def _image(url: str | None) -> JSON:
    if url is not None and (found := DATA_URL.match(url)):
        data = {"type": "base64", "media_type": found[1], "data": url[found.end() :]}
        return {"type": "image", "source": data}
    if url is not None and url.startswith(("http://", "https://")):
        return {"type": "image", "source": {"type": "url", "url": url}}
    return _mention(url)


def _input(arguments: str) -> JSON:
    """Anthropic takes an object; a model may have written anything."""
    try:
        value = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return {"arguments": arguments}
    return value if isinstance(value, dict) else {"arguments": value}


def _plain_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content or () if isinstance(block.get("text"), str))


class _AnthropicIds(dict[str, str]):
    """Ids of letters, digits, `_` and `-`, different where the originals are."""

    def __init__(self) -> None:
        super().__init__()
        self._taken: set[str] = set()

    def __missing__(self, original: str) -> str:
        own = ANTHROPIC_ID.sub("_", original)
        while own in self._taken:
            own += "_"
        self._taken.add(own)
        self[original] = own
        return own
