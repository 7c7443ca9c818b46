"""What a transcript's part shows: pure rules over rows."""

import re
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from sessions_app.admin.markdown import rendered
from sessions_app.admin.transcript import together

from .attacks import ATTACKS, dangers

AT = datetime(2026, 5, 1, tzinfo=UTC)


def row(seq: int, body: dict[str, Any], kind: str = "message", **fields: Any) -> dict[str, Any]:
    role = body.get("role", "") if kind == "message" else ""
    return {
        "pk": seq, "seq": seq, "kind": kind, "role": role, "body": orjson.dumps(body).decode(), "extra": None,
        "tokens": 1, "created_at": AT, "hidden_by": "", **fields,
    }  # fmt: skip


def call(*ids: str) -> dict[str, Any]:
    made = [{"id": name, "function": {"name": f"tool_{name}", "arguments": '{"a":1}'}} for name in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(name: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": text}


def test_results_stand_with_their_calls_in_any_order() -> None:
    entries = together([row(1, call("x", "y")), row(2, result("y", "two")), row(3, result("x", "one"))])
    assert [(made.name, made.result, made.result_seq) for made in entries[0].calls] == [
        ("tool_x", "one", 3),
        ("tool_y", "two", 2),
    ]
    assert [entry.belongs_to for entry in entries] == [None, 1, 1]


def test_a_result_without_a_call_and_a_second_one_stand_alone() -> None:
    entries = together(
        [row(1, result("x", "early")), row(2, call("x")), row(3, result("x", "a")), row(4, result("x", "b"))]
    )
    assert [entry.belongs_to for entry in entries] == [None, None, 2, None]
    assert entries[1].calls[0].result == "a"


def test_hidden_and_condensed_entries_say_so() -> None:
    user = {"role": "user", "content": "hi"}
    entries = together([row(1, user), row(2, user, hidden_by="rewind"), row(3, user)], condensed_through=1)
    assert [(entry.condensed, entry.hidden) for entry in entries] == [
        (True, ""),
        (False, "rewound"),
        (False, ""),
    ]


def test_blocks_that_are_no_text_are_named_and_never_loaded() -> None:
    content = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "https://evil.example/"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA"}},
    ]
    [entry] = together([row(1, {"role": "user", "content": content}, extra='{"media": ["a.png"]}')])
    assert (entry.text, entry.media) == (
        "see",
        [
            "a.png", "image_url: https://evil.example/", "image_url: image/png;base64, 26 characters",
            "input_audio",
        ],
    )  # fmt: skip


@pytest.mark.parametrize("text", ATTACKS, ids=range(len(ATTACKS)))
def test_markdown_of_strangers_has_no_tags_of_theirs(text: str) -> None:
    for html in (rendered(text), rendered(text, links_to="/admin/")):
        assert dangers(html) == []


def test_only_addresses_of_the_page_itself_may_be_linked_besides_the_web() -> None:
    text = "[a](/admin/x) [b](//evil.example/) [c](/other) [d](https://daybook.example/)"
    html = rendered(text, links_to="/admin/")
    assert re.findall('href="([^"]*)"', html) == ["/admin/x", "https://daybook.example/"]
    assert html.count('target="_blank"') == 1
