"""The record of a session, as it is appended and read back."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import Api, said

NOW = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
FIELDS = (
    "id", "seq", "kind", "role", "content", "confidence", "tool", "args", "result", "error", "context",
    "decision", "rationale", "tool_calls", "tool_call_id", "name", "reasoning_content", "media", "metadata",
    "proactive", "created_at", "hidden",
)  # fmt: skip
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
BLOCKS = [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]

GIVEN_AND_KEPT: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"role": "user", "content": "hi"}, {"kind": "message", "role": "user", "content": "hi"}),
    (
        {"kind": "message", "role": "user", "content": BLOCKS, "name": "Ann", "media": ["/tmp/a.png"]},  # noqa: S108
        {"kind": "message", "role": "user", "content": BLOCKS, "name": "Ann", "media": ["/tmp/a.png"]},  # noqa: S108
    ),
    (
        {"role": "assistant", "content": "", "confidence": 0, "proactive": True, "reasoning_content": "why"},
        {
            "kind": "message",
            "role": "assistant",
            "content": "",
            "confidence": 0,
            "proactive": True,
            "reasoning_content": "why",
        },
    ),
    (
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"kind": "message", "role": "assistant", "tool_calls": [CALL]},
    ),
    (
        {"role": "tool", "tool_call_id": "c1", "content": "42", "confidence": 1},
        {"kind": "message", "role": "tool", "tool_call_id": "c1", "content": "42", "confidence": 1},
    ),
    ({"role": "system", "content": "Be kind."}, {"kind": "message", "role": "system", "content": "Be kind."}),
    (
        {"kind": "tool_call", "tool": "look", "args": {"at": [1, 2.5, None]}, "result": {"found": True}},
        {"kind": "tool_call", "tool": "look", "args": {"at": [1, 2.5, None]}, "result": {"found": True}},
    ),
    ({"kind": "tool_call", "tool": "look"}, {"kind": "tool_call", "tool": "look"}),
    (
        {"kind": "error", "error": "no route", "context": "while looking"},
        {"kind": "error", "error": "no route", "context": "while looking"},
    ),
    (
        {"kind": "decision", "decision": "stay", "rationale": "it rains"},
        {"kind": "decision", "decision": "stay", "rationale": "it rains"},
    ),
    (
        {"role": "user", "content": "hi", "metadata": {"a": {"b": None}}, "lang": "en", "id": 7, "tool": "x"},
        {
            "kind": "message",
            "role": "user",
            "content": "hi",
            "metadata": {"a": {"b": None}, "lang": "en", "id": 7, "tool": "x"},
        },
    ),
    (
        {"kind": "error", "error": "no", "role": "user"},
        {"kind": "error", "error": "no", "metadata": {"role": "user"}},
    ),
]


def messages(api: Api, session: str, query: str = "") -> dict[str, Any]:
    response = api.get(f"/sessions/{session}/messages{query}")
    assert response.status_code == 200, response.content
    page: dict[str, Any] = said(response)
    return page


def seqs(page: dict[str, Any]) -> list[int]:
    return [item["seq"] for item in page["items"]]


@pytest.mark.parametrize(("given", "kept"), GIVEN_AND_KEPT)
def test_what_is_appended_is_read_back_with_null_where_nothing_applies(
    api: Api, given: dict[str, Any], kept: dict[str, Any]
) -> None:
    session = api.open()
    with time_machine.travel(NOW, tick=False):
        appended = api.append(session, given)
    message_id = f"{session}.1"
    expected = dict.fromkeys(FIELDS) | kept
    expected |= {"id": message_id, "seq": 1, "created_at": "2026-05-01T10:00:00+00:00", "hidden": False}
    assert appended["items"] == [{"id": message_id, "seq": 1}]
    assert messages(api, session) == {"items": [expected], "next_cursor": None}
    placed = expected | {"session_id": session, "session_key": "telegram:1"}
    assert said(api.get(f"/messages/{message_id}")) == placed | {"consolidation_id": None}
    assert said(api.get("/messages/recent"))["items"] == [placed | {"truncated": False}]


def test_text_of_any_script_comes_back_to_the_letter(api: Api) -> None:
    text = "Grüße, e\u0301, 日本語, עברית \u202eabc, 👩\u200d👩\u200d👧, \t\r\n, "
    text += "\u2028, \\u0041, \ufeff, \U0010ffff, ''\"%_"
    session = api.open()
    api.append(session, {"role": "user", "content": text, "metadata": {text: text}})
    (message,) = messages(api, session)["items"]
    assert message["content"] == text
    assert message["metadata"] == {text: text}


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("2026-05-01T10:00:00Z", "2026-05-01T10:00:00+00:00"),
        ("2026-05-01T10:00:00.123456+05:30", "2026-05-01T04:30:00.123456+00:00"),
        ("2026-05-01T10:00:00", "2026-05-01T08:00:00+00:00"),
        ("2026-05-01 10:00", "2026-05-01T08:00:00+00:00"),
        # Berlin's clocks went on from 02:00 on 29 March 2026, and back from 03:00 on 26 October 2025:
        # a skipped time counts on from before the gap, a repeated one is the first of the two.
        ("2026-03-29T02:30:00", "2026-03-29T01:30:00+00:00"),
        ("2025-10-26T02:30:00", "2025-10-26T00:30:00+00:00"),
    ],
)
def test_a_time_without_offset_is_read_in_the_agents_zone(
    api: Api, admin: Api, given: str, stored: str
) -> None:
    assert admin.send("PATCH", "/agent", {"timezone": "Europe/Berlin"}).status_code == 200
    session = api.open()
    api.append(session, {"role": "user", "content": "hi", "created_at": given})
    assert messages(api, session)["items"][0]["created_at"] == stored
    summary = said(api.get(f"/sessions/{session}/summary"))
    assert (summary["first_at"], summary["last_at"]) == (stored, stored)


def test_a_time_may_be_five_minutes_ahead_and_no_more(api: Api) -> None:
    session = api.open()
    with time_machine.travel(NOW, tick=False):
        api.append(session, {"role": "user", "content": "hi", "created_at": "2026-05-01T10:05:00+00:00"})
        late = {"role": "user", "content": "hi", "created_at": "2026-05-01T10:05:00.000001+00:00"}
        response = api.post(f"/sessions/{session}/messages", late)
    assert response.status_code == 422
    assert said(response)["errors"][0]["loc"] == ["body", "created_at"]
    assert seqs(messages(api, session)) == [1]


def test_a_batch_with_one_bad_message_stores_nothing(api: Api) -> None:
    session = api.open()
    before = said(api.get(f"/sessions/{session}"))
    batch = [{"role": "user", "content": "1"}, {"role": "king", "content": "2"}, {"role": "user"}]
    response = api.post(f"/sessions/{session}/messages", {"messages": batch})
    assert response.status_code == 422
    assert [error["loc"] for error in said(response)["errors"]] == [
        ["body", "messages", 1, "role"],
        ["body", "messages", 2, "content"],
    ]
    assert messages(api, session) == {"items": [], "next_cursor": None}
    assert said(api.get(f"/sessions/{session}")) == before


def test_counts_tokens_and_times_follow_what_is_appended(api: Api) -> None:
    session = api.open()
    assert said(api.get(f"/sessions/{session}/summary")) == {
        "entries": 0,
        "messages": 0,
        "tool_calls": 0,
        "errors": 0,
        "decisions": 0,
        "tokens": {"input": 0, "output": 0, "total": 0},
        "first_at": None,
        "last_at": None,
        "cost_usd": 0,
        "by_model": {},
    }
    api.append(
        session,
        {"role": "user", "content": "1", "created_at": "2026-05-01T10:00:00Z"},
        {"kind": "tool_call", "tool": "look", "created_at": "2026-05-01T09:00:00Z"},
        {"kind": "error", "error": "no", "created_at": "2026-05-01T11:00:00Z"},
        {"kind": "decision", "decision": "go", "created_at": "2026-05-01T10:30:00Z"},
    )
    appended = api.append(
        session, {"role": "assistant", "content": "2", "created_at": "2026-05-01T10:45:00Z"}
    )
    for used in ({"input_tokens": 10, "output_tokens": 3}, {"input_tokens": 1, "output_tokens": 2**40 - 1}):
        assert api.post(f"/sessions/{session}/usage", used | {"model": "m", "cost_usd": 1}).status_code == 200
    counts = {"entries": 5, "messages": 2, "tool_calls": 1, "errors": 1, "decisions": 1}
    assert appended["session"]["counts"] == counts
    assert appended["session"]["last_activity_at"] == "2026-05-01T10:00:00+00:00"
    assert said(api.get(f"/sessions/{session}/summary")) == {
        **counts,
        "tokens": {"input": 11, "output": 2**40 + 2, "total": 2**40 + 13},
        "first_at": "2026-05-01T09:00:00+00:00",
        "last_at": "2026-05-01T11:00:00+00:00",
        "cost_usd": 2,
        "by_model": {"m": {"calls": 2, "input_tokens": 11, "output_tokens": 2**40 + 2, "cost_usd": 2}},
    }
    assert said(api.get(f"/sessions/{session}"))["cost_usd"] == 2


def test_usage_is_told_by_model_and_beyond_fifty_models_together(api: Api) -> None:
    session = api.open()
    for model in (None, "m0", *(f"m{number}" for number in range(52))):
        body = {"input_tokens": 2, "output_tokens": 1, "model": model}
        assert api.post(f"/sessions/{session}/usage", body).status_code == 200
    by_model = said(api.get(f"/sessions/{session}/summary"))["by_model"]
    assert len(by_model) == 51
    assert by_model["m0"] == {"calls": 2, "input_tokens": 4, "output_tokens": 2, "cost_usd": 0}
    assert by_model["(others)"]["calls"] == 2
    assert said(api.get(f"/sessions/{session}"))["tokens"] == {"input": 108, "output": 54, "total": 162}


def test_a_summary_is_one_query_however_long_the_session_is(api: Api) -> None:
    session = api.open()
    for _ in range(3):
        api.append(session, *({"role": "user", "content": "x"} for _ in range(100)))
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert said(api.get(f"/sessions/{session}/summary"))["entries"] == 300
    texts = [query["sql"] for query in asked.captured_queries]
    assert len([text for text in texts if "sessions_app_session" in text]) == 1
    assert [text for text in texts if "sessions_app_message" in text] == []
    assert len(texts) <= 2, "the key and the session"


def test_an_ended_session_takes_no_more(api: Api) -> None:
    from sessions_app.models import Session

    session = api.open()
    Session.objects.filter(uid=session).update(ended_at=NOW, end_reason="reset")
    response = api.post(f"/sessions/{session}/messages", {"role": "user", "content": "late"})
    assert response.status_code == 409
    assert messages(api, session)["items"] == []


def test_messages_are_paged_by_seq_both_ways(api: Api) -> None:
    session = api.open()
    api.append(session, *({"role": "user", "content": str(n)} for n in range(1, 6)))
    assert seqs(messages(api, session)) == [1, 2, 3, 4, 5]
    assert seqs(messages(api, session, "?order=desc")) == [5, 4, 3, 2, 1]
    assert seqs(messages(api, session, "?after=1&before=4")) == [2, 3]
    assert seqs(messages(api, session, "?after=5")) == []
    assert seqs(messages(api, session, f"?after={2**63 - 1}")) == []
    first = messages(api, session, "?order=desc&limit=2&before=5")
    assert seqs(first) == [4, 3]
    api.append(session, {"role": "user", "content": "6"})
    rest = messages(api, session, f"?order=desc&limit=2&before=5&cursor={first['next_cursor']}")
    assert (seqs(rest), rest["next_cursor"]) == ([2, 1], None)


def test_messages_are_filtered_by_kind_and_role(api: Api) -> None:
    session = api.open()
    api.append(
        session,
        {"role": "user", "content": "1"},
        {"kind": "tool_call", "tool": "look"},
        {"kind": "error", "error": "no"},
        {"kind": "decision", "decision": "go"},
        {"role": "assistant", "content": "5"},
        {"role": "system", "content": "6"},
        {"role": "tool", "tool_call_id": "c", "content": "7"},
    )
    expected = {
        "kind=message": [1, 5, 6, 7],
        "kind=tool_call": [2],
        "kind=error": [3],
        "kind=decision": [4],
        "role=user": [1],
        "role=assistant": [5],
        "role=system": [6],
        "role=tool": [7],
        "kind=error&role=user": [],
    }
    assert {query: seqs(messages(api, session, f"?{query}")) for query in expected} == expected


def test_what_was_cleared_is_listed_only_when_asked_for(api: Api) -> None:
    session = api.open()
    api.append(session, {"role": "user", "content": "1"}, {"kind": "tool_call", "tool": "look"})
    assert api.post(f"/sessions/{session}/clear").status_code == 200
    hidden = [
        item["seq"] for item in messages(api, session, "?include_hidden=true")["items"] if item["hidden"]
    ]
    shown = seqs(messages(api, session))
    assert sorted(hidden + shown) == [1, 2]
    assert 1 in hidden
    recent = said(api.get("/messages/recent?include_hidden=true"))["items"]
    assert {item["seq"]: item["hidden"] for item in recent} == {1: True, 2: 2 in hidden}
    assert [item["seq"] for item in said(api.get("/messages/recent"))["items"]] == shown
    assert said(api.get(f"/messages/{session}.1"))["hidden"] is True


def test_recent_cuts_results_at_500_characters_and_the_message_has_it_whole(api: Api) -> None:
    session = api.open()
    api.append(
        session,
        {"kind": "tool_call", "tool": "a", "result": "é" * 500},
        {"kind": "tool_call", "tool": "b", "result": "é" * 501},
        {"kind": "tool_call", "tool": "c", "result": {"rows": ["x" * 600]}},
    )
    c, b, a = said(api.get("/messages/recent"))["items"]
    assert (a["result"], a["truncated"]) == ("é" * 500, False)
    assert (b["result"], b["truncated"]) == ("é" * 500, True)
    assert (c["result"], c["truncated"]) == ('{"rows":["' + "x" * 490, True)
    assert said(api.get(f"/messages/{b['id']}"))["result"] == "é" * 501
    assert messages(api, session)["items"][2]["result"] == {"rows": ["x" * 600]}


def test_recent_goes_over_all_sessions_newest_first_and_pages_through_equal_times(
    api: Api, stranger: Api
) -> None:
    stranger.append(stranger.open(), {"role": "user", "content": "not yours"})
    sessions = [api.open(f"k{n}") for n in range(3)]
    with time_machine.travel(NOW, tick=False):
        for n in range(12):
            api.append(sessions[n % 3], {"role": "user", "content": str(n)})
    found: list[str] = []
    cursor = ""
    while True:
        page = said(api.get(f"/messages/recent?limit=5{cursor}"))
        found += [item["content"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
        with time_machine.travel(NOW + timedelta(minutes=1), tick=False):
            api.append(sessions[0], {"role": "user", "content": "newer"})
    assert found == [str(n) for n in range(11, -1, -1)]
