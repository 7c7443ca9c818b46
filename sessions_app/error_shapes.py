"""Errors that differ only in numbers, names of files and the like have one shape."""

import re
from collections.abc import Sequence

LONGEST = 300
# In this order: a time has numbers in it, an address has a path.
_PARTS: Sequence[tuple[re.Pattern[str], str]] = [
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b\w+://[^\s'\"<>)]+"), "<address>"),
    (re.compile(r"\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b"), "<address>"),
    (re.compile(r"(?<![\w.])(~|\.{1,2}|[A-Za-z]:)?[/\\][\w.@%+-]+([/\\][\w.@%+-]*)*"), "<path>"),
    (re.compile(r"\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|`[^`\n]{1,200}`"), "<text>"),
    (re.compile(r"\b0x[0-9a-f]+\b|\b(?=\w*\d)[0-9a-f]{8,}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\d+([.,:]\d+)*"), "<n>"),
]
_SPACE = re.compile(r"\s+")


def shape(error: str) -> str:
    """What an error says once everything that changes from one time to the next is taken out."""
    text = error[: LONGEST * 4]
    for part, mark in _PARTS:
        text = part.sub(mark, text)
    return _SPACE.sub(" ", text).strip().casefold()[:LONGEST]


_FAILED = re.compile(
    r"\s*(\[?error\b|traceback\b|exception\b|failed\b|failure\b|fatal\b|\w*(error|exception)\b\s*:"
    r"|(command )?(timed out|timeout)\b|permission denied|no such file|not found\b|exit (code|status) [1-9])",
    re.IGNORECASE,
)


def looks_failed(result: object) -> bool:
    """Whether what a tool gave back tells of a failure: by its fields, else by how its text begins."""
    if isinstance(result, dict):
        if result.get("error") or result.get("is_error") or result.get("isError"):
            return True
        if result.get("success") is False or result.get("ok") is False:
            return True
        code = result.get("exit_code", result.get("returncode"))
        return isinstance(code, int) and not isinstance(code, bool) and code != 0
    return isinstance(result, str) and _FAILED.match(result[:200]) is not None
