"""How many tokens a text is, by estimate: one function, so that every budget means the same."""

from collections.abc import Sequence
from typing import Any

import orjson

PER_MESSAGE = 4
PER_IMAGE = 1000
# What `[image: …]` and its line break add to a path.
PER_MEDIA_LINE = 3
# `[Message Time: 2026-05-01T10:00:00+00:00]` and its line break.
PER_TIME_LINE = 11
ASCII_PER_TOKEN = 4
# Chinese, Japanese, Korean and most other scripts take three bytes a character and about one token.
OTHER_BYTES_PER_TOKEN = 3
IMAGE_BLOCKS = frozenset({"image", "image_url", "input_image"})


def estimate(text: str) -> int:
    if text.isascii():
        return -(-len(text) // ASCII_PER_TOKEN)
    ascii_characters = len(text.encode("ascii", "ignore"))
    other_bytes = len(text.encode("utf-8", "replace")) - ascii_characters
    return -(-ascii_characters // ASCII_PER_TOKEN) + -(-other_bytes // OTHER_BYTES_PER_TOKEN)


def estimate_message(message: dict[str, Any], media: Sequence[str] = ()) -> int:
    """Of a message as a provider gets it: the texts, the tool calls, and what frames them."""
    total = PER_MESSAGE + _content(message.get("content"))
    if message["role"] == "user":
        total += sum(PER_MEDIA_LINE + estimate(path) for path in media)
    if calls := message.get("tool_calls"):
        total += estimate(orjson.dumps(calls).decode())
    if reasoning := message.get("reasoning_content"):
        total += estimate(reasoning)
    return total


def _content(content: Any) -> int:
    if isinstance(content, str):
        return estimate(content)
    return sum(_block(block) for block in content or ())


def _block(block: dict[str, Any]) -> int:
    if block.get("type") in IMAGE_BLOCKS:
        return PER_IMAGE
    return estimate(orjson.dumps(block).decode())
