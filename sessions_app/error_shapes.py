"""What an error says, and what all errors of its kind say: those that differ only in numbers, names of files
and the like have one shape."""

import re
from collections.abc import Sequence
from typing import Any

import orjson

LONGEST = 300
# Of a result that is looked into: a failure is short.
LONGEST_OBJECT = 20_000
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
    text = essence(error)[: LONGEST * 4]
    for part, mark in _PARTS:
        text = part.sub(mark, text)
    return _SPACE.sub(" ", text).strip().casefold()[:LONGEST]


_STACK = re.compile(r"Traceback \(most recent call last\)|^[ \t]+at [\w.$<>]+ ?\(", re.MULTILINE)
_RAISED = re.compile(
    r"^(?:[\w.]+: )?[\w.$]*(?:Error|Exception|Exit|Interrupt|Warning|Failure)\b.*$", re.MULTILINE
)
_SAYS = ("error", "message", "detail", "reason", "stderr", "msg")


def essence(error: str) -> str:
    """What happened, on one line: of an object its message, of a stack what was raised, else its start."""
    found = _object(error)
    if found is not None and (said := _said(found)):
        error = said
    if (thrown := raised(error)) is not None:
        return thrown
    lines = [line for line in error.splitlines() if line.strip()]
    return " ".join(" ".join(lines[:3]).split())


def raised(text: str) -> str | None:
    """What a stack of calls says that was raised; None where there is no stack."""
    found = _RAISED.findall(text) if _STACK.search(text) else []
    # A stack of Python ends with it, others begin with it.
    return " ".join(str(found[-1 if "Traceback" in text else 0]).split()) if found else None


_FAILED = re.compile(
    r"\s*(\[?error\b|traceback\b|exception\b|failed\b|failure\b|fatal\b|[\w.]*(error|exception)\b\s*:"
    r"|(command )?(timed out|timeout)\b|permission denied|no such file|not found\b|exit (code|status) [1-9])",
    re.IGNORECASE,
)


def looks_failed(result: object) -> bool:
    """Whether what a tool gave back tells of a failure: by its fields, else by how its text begins."""
    if isinstance(result, str):
        # A message of a tool is a text, also where the tool answered with an object.
        if (found := _object(result)) is None:
            return _FAILED.match(result[:200]) is not None
        result = found
    return isinstance(result, dict) and _tells_failure(result)


def _tells_failure(result: dict[str, Any]) -> bool:
    if result.get("error") or result.get("is_error") or result.get("isError"):
        return True
    if result.get("success") is False or result.get("ok") is False:
        return True
    code = result.get("exit_code", result.get("returncode"))
    return isinstance(code, int) and not isinstance(code, bool) and code != 0


def _object(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{") or len(text) > LONGEST_OBJECT:
        return None
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _said(failure: dict[str, Any]) -> str:
    for name in _SAYS:
        value = failure.get(name)
        if isinstance(value, dict):
            value = value.get("message")
        if isinstance(value, str) and value.strip():
            return value
    return ""
