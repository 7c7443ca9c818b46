"""How many tokens a text is, by estimate: one function, so that every budget means the same.

A tokenizer of one model would be wrong for all others and slower than the append that waits for it. How far
the estimate is from a real one is measured by tests/sessions/test_token_error.py and told in docs/memory.md.
"""

from collections.abc import Sequence
from typing import Any

import orjson

PER_MESSAGE = 4
PER_IMAGE = 1000
# What `[image: …]` and its line break add to a path.
PER_MEDIA_LINE = 4
# `[Message Time: 2026-05-01T10:00:00+00:00]` and its line break.
PER_TIME_LINE = 18
ASCII_PER_TOKEN = 4
# Letters and spaces go four to a token; digits and signs, which seldom share one with others, two.
LETTERS_AND_SPACES = bytes(code for code in range(128) if chr(code).isalpha() or chr(code).isspace())
# Chinese, Japanese, Korean and most other scripts take three bytes a character and about one token.
OTHER_BYTES_PER_TOKEN = 3
IMAGE_BLOCKS = frozenset({"image", "image_url", "input_image"})


def estimate(text: str) -> int:
    plain = text.encode("ascii", "ignore")
    quarters = len(plain) + len(plain.translate(None, LETTERS_AND_SPACES))
    total = -(-quarters // ASCII_PER_TOKEN)
    if len(plain) == len(text):
        return total
    other_bytes = len(text.encode("utf-8", "replace")) - len(plain)
    return total - (-other_bytes // OTHER_BYTES_PER_TOKEN)


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
