"""The rules for one entry, without a database."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sessions_app.entries import METADATA_BYTES, TEXT_BYTES, entry
from sessions_app.problems import Invalid

NOW = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
USER = {"role": "user", "content": "x"}
ASSISTANT = {"role": "assistant", "content": "x"}


def places(given: Any) -> list[list[str | int]]:
    """Each place that is found wrong, once."""
    try:
        entry(given, now=NOW, zone=ZoneInfo("UTC"))
    except Invalid as refused:
        found: list[list[str | int]] = []
        for error in refused.errors:
            if error["loc"] not in found:
                found.append(error["loc"])
        return found
    return []


WRONG: list[tuple[Any, list[str | int]]] = [
    (USER | {"kind": "note"}, ["kind"]),
    (USER | {"kind": 1}, ["kind"]),
    (USER | {"role": "king"}, ["role"]),
    (USER | {"role": 1}, ["role"]),
    ({"content": "x"}, ["role"]),
    ({}, ["role"]),
    (USER | {"content": 5}, ["content"]),
    (USER | {"content": {"type": "text"}}, ["content"]),
    (USER | {"confidence": 1.5}, ["confidence"]),
    (USER | {"confidence": -0.1}, ["confidence"]),
    (USER | {"confidence": True}, ["confidence"]),
    (USER | {"confidence": "0.5"}, ["confidence"]),
    (USER | {"name": 5}, ["name"]),
    (USER | {"name": "n" * 513}, ["name"]),
    (USER | {"media": "a.png"}, ["media"]),
    (USER | {"media": [1]}, ["media", 0]),
    (USER | {"media": [""]}, ["media", 0]),
    (USER | {"media": ["a"] * 101}, ["media"]),
    (USER | {"metadata": []}, ["metadata"]),
    (USER | {"metadata": "x"}, ["metadata"]),
    (USER | {"metadata": {"lang": 1}, "lang": 2}, ["lang"]),
    (USER | {"reasoning_content": ["x"]}, ["reasoning_content"]),
    (USER | {"proactive": 1}, ["proactive"]),
    (USER | {"proactive": True}, ["proactive"]),
    (USER | {"created_at": 1777629600}, ["created_at"]),
    (USER | {"created_at": "yesterday"}, ["created_at"]),
    (USER | {"created_at": ""}, ["created_at"]),
    (USER | {"created_at": "1969-12-31T23:59:59Z"}, ["created_at"]),
    (USER | {"created_at": "0001-01-01T00:00:00+23:59"}, ["created_at"]),
    (USER | {"created_at": "9999-12-31T23:59:59-23:59"}, ["created_at"]),
    (USER | {"created_at": "2026-05-01T10:05:01Z"}, ["created_at"]),
    (USER | {"tool_calls": [{"id": "c", "function": {"name": "f"}}]}, ["tool_calls"]),
    (ASSISTANT | {"tool_calls": {}}, ["tool_calls"]),
    (ASSISTANT | {"tool_calls": [5]}, ["tool_calls", 0]),
    (ASSISTANT | {"tool_calls": [{"id": 5, "function": {"name": "f"}}]}, ["tool_calls", 0, "id"]),
    (ASSISTANT | {"tool_calls": [{"id": "c"}]}, ["tool_calls", 0, "function"]),
    (
        ASSISTANT | {"tool_calls": [{"id": "c", "function": {"name": ""}}]},
        ["tool_calls", 0, "function", "name"],
    ),
    (
        ASSISTANT | {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": 5}}]},
        ["tool_calls", 0, "function", "arguments"],
    ),
    (USER | {"tool_call_id": "c"}, ["tool_call_id"]),
    ({"role": "tool", "content": "x"}, ["tool_call_id"]),
    ({"role": "tool", "content": "x", "tool_call_id": "c" * 513}, ["tool_call_id"]),
    ({"kind": "tool_call"}, ["tool"]),
    ({"kind": "tool_call", "tool": 5}, ["tool"]),
    ({"kind": "tool_call", "tool": ""}, ["tool"]),
    ({"kind": "tool_call", "tool": "t" * 513}, ["tool"]),
    ({"kind": "error"}, ["error"]),
    ({"kind": "error", "error": {}}, ["error"]),
    ({"kind": "error", "error": "x", "context": 5}, ["context"]),
    ({"kind": "decision"}, ["decision"]),
    ({"kind": "decision", "decision": 5}, ["decision"]),
    ({"kind": "decision", "decision": "x", "rationale": 5}, ["rationale"]),
    ([], []),
    ("text", []),
    (5, []),
    (None, []),
]


@pytest.mark.parametrize(("given", "loc"), WRONG)
def test_a_wrong_field_is_named_and_no_other(given: Any, loc: list[str | int]) -> None:
    assert places(given) == [["body", *loc]]


def test_a_block_without_type_is_named_within_the_content() -> None:
    assert ["body", "content", 1, "type"] in places(USER | {"content": [{"type": "text"}, {}]})


@pytest.mark.parametrize(
    ("character", "size"), [("x", 1), ("é", 2), ("漢", 3), ("👍", 4)], ids=["ascii", "two", "three", "four"]
)
def test_a_text_may_have_a_mebibyte_and_not_one_byte_more(character: str, size: int) -> None:
    whole, rest = divmod(TEXT_BYTES, size)
    fits = character * whole + "x" * rest
    assert len(fits.encode()) == 1024 * 1024
    for field in ("content", "reasoning_content"):
        assert places(USER | {field: fits}) == []
        assert places(USER | {field: fits + "x"}) == [["body", field]]


def test_results_args_and_blocks_are_measured_as_json() -> None:
    call = {"kind": "tool_call", "tool": "t"}
    fits = ["x" * (TEXT_BYTES - len('[""]'))]
    too_long = ["x" * (TEXT_BYTES - len('[""]') + 1)]
    for field in ("args", "result"):
        assert places(call | {field: fits}) == []
        assert places(call | {field: too_long}) == [["body", field]]
    blocks = [{"type": "text", "text": "x" * TEXT_BYTES}]
    assert places(USER | {"content": blocks}) == [["body", "content"]]


def test_metadata_may_have_64_kibibytes_with_the_fields_that_were_put_into_it() -> None:
    fits = {"a": "x" * (METADATA_BYTES - len('{"a":""}'))}
    assert places(USER | {"metadata": fits}) == []
    assert places(USER | {"metadata": {"a": fits["a"] + "x"}}) == [["body", "metadata"]]
    assert places(USER | {"a": fits["a"]}) == []
    assert places(USER | {"a": fits["a"] + "x"}) == [["body", "metadata"]]
