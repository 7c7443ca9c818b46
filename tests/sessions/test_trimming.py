"""Clear, retain, rewind and fork: the window changes, the record does not."""

from typing import Any

import pytest
from django.utils import timezone

from sessions_app.models import Session
from tests.conftest import Api, said
from tests.sessions.conversations import assistant, calls, result, user

ERROR = {"kind": "error", "error": "it broke"}
COUNTS = {"entries": 7, "messages": 6, "tool_calls": 0, "errors": 1, "decisions": 0}


@pytest.fixture
def session(api: Api) -> str:
    """Two turns: 1 user, 2 calls, 3 result, 4 an error, 5 answer; 6 user, 7 answer."""
    session_id = api.open()
    api.append(session_id, user("one"), calls("a"), result("a"), ERROR, assistant("two"))
    api.append(session_id, user("three"), assistant("four"))
    return session_id


def record(api: Api, session_id: str, query: str = "") -> list[tuple[int, bool]]:
    listed = said(api.get(f"/sessions/{session_id}/messages{query}"))
    return [(item["seq"], item["hidden"]) for item in listed["items"]]


def window(api: Api, session_id: str) -> list[Any]:
    return [message["seq"] for message in api.window(session_id, "?format=raw")["messages"]]


def trim(api: Api, session_id: str, what: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    response = api.post(f"/sessions/{session_id}/{what}", body or {})
    assert response.status_code == (201 if what == "fork" else 200), response.content
    answer: dict[str, Any] = said(response)
    return answer


@pytest.mark.parametrize(
    ("what", "body", "left"),
    [
        ("clear", {}, []),
        ("retain", {"max_messages": 0}, []),
        ("retain", {"max_messages": 1}, [7]),
        ("retain", {"max_messages": 2}, [6, 7]),
        ("retain", {"max_messages": 5}, [6, 7]),
        ("retain", {"max_messages": 6}, [1, 2, 3, 4, 5, 6, 7]),
        ("rewind", {"to_seq": 6}, [1, 2, 3, 4, 5]),
        ("rewind", {"to_seq": 1}, []),
    ],
)
def test_what_is_cut_is_hidden_and_not_destroyed(
    api: Api, session: str, what: str, body: dict[str, Any], left: list[int]
) -> None:
    answer = trim(api, session, what, body)
    assert answer["counts"] == COUNTS
    assert window(api, session) == [seq for seq in left if seq != 4]
    assert record(api, session) == [(seq, False) for seq in left]
    assert record(api, session, "?include_hidden=true") == [(seq, seq not in left) for seq in range(1, 8)]


def test_what_comes_after_a_cut_is_numbered_on(api: Api, session: str) -> None:
    trim(api, session, "clear")
    assert [item["seq"] for item in api.append(session, user("five"))["items"]] == [8]
    assert api.window(session)["messages"] == [user("five")]


def test_retain_keeps_a_delivery_right_before_a_user_message(api: Api) -> None:
    session = api.open()
    api.append(session, user(), assistant(), assistant("Rain.", proactive=True), user("ok"))
    trim(api, session, "retain", {"max_messages": 2})
    assert window(api, session) == [3, 4]


def test_clear_forgets_the_summary_too(api: Api, session: str) -> None:
    Session.objects.filter(uid=session).update(consolidated_through=5, summary="They spoke.")
    trim(api, session, "clear")
    assert api.window(session)["summary"] is None


def test_a_rewind_behind_the_summary_keeps_it(api: Api, session: str) -> None:
    Session.objects.filter(uid=session).update(consolidated_through=5, summary="They spoke.")
    assert trim(api, session, "rewind", {"to_seq": 6})["consolidated_through"] == 5
    assert api.window(session)["summary"] == "They spoke."


def test_a_rewind_into_what_was_condensed_takes_the_summary_back(api: Api, session: str) -> None:
    Session.objects.filter(uid=session).update(consolidated_through=7, summary="They spoke of four.")
    assert trim(api, session, "rewind", {"to_seq": 6})["consolidated_through"] == 0
    assert api.window(session)["summary"] is None
    assert window(api, session) == [1, 2, 3, 5]


@pytest.mark.parametrize("to_seq", [2, 3, 4, 8, 0, -1, "1", None])
def test_rewind_goes_to_user_messages_only(api: Api, session: str, to_seq: Any) -> None:
    response = api.post(f"/sessions/{session}/rewind", {"to_seq": to_seq})
    assert response.status_code == 422
    assert said(response)["errors"][0]["loc"] == ["body", "to_seq"]
    assert window(api, session) == [1, 2, 3, 5, 6, 7]


def test_rewind_does_not_go_to_what_is_hidden(api: Api, session: str) -> None:
    trim(api, session, "rewind", {"to_seq": 6})
    assert api.post(f"/sessions/{session}/rewind", {"to_seq": 6}).status_code == 422


CUTS: list[tuple[str, dict[str, Any]]] = [
    ("clear", {}),
    ("retain", {"max_messages": 2}),
    ("rewind", {"to_seq": 6}),
]


@pytest.mark.parametrize(("what", "body"), CUTS)
def test_an_ended_session_is_not_cut(api: Api, session: str, what: str, body: dict[str, Any]) -> None:
    Session.objects.filter(uid=session).update(ended_at=timezone.now(), end_reason="idle")
    assert api.post(f"/sessions/{session}/{what}", body).status_code == 409
    assert window(api, session) == [1, 2, 3, 5, 6, 7]


@pytest.mark.parametrize(("what", "body"), [*CUTS, ("fork", {"key": "telegram:copy"})])
def test_a_request_that_is_sent_twice_acts_once(
    api: Api, session: str, what: str, body: dict[str, Any]
) -> None:
    first = api.post(f"/sessions/{session}/{what}", body, Idempotency_Key="once")
    api.append(session, user("five"))
    again = api.post(f"/sessions/{session}/{what}", body, Idempotency_Key="once")
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert window(api, session)[-1] == 8
    assert Session.objects.count() == (2 if what == "fork" else 1)


@pytest.mark.parametrize("cut", [*CUTS, ("fork", {})])
def test_strangers_and_readers_cut_nothing(
    api: Api, reader: Api, stranger: Api, session: str, cut: tuple[str, dict[str, Any]]
) -> None:
    what, body = cut
    assert stranger.post(f"/sessions/{session}/{what}", body).status_code == 404
    assert reader.post(f"/sessions/{session}/{what}", body).status_code == 403
    assert window(api, session) == [1, 2, 3, 5, 6, 7]


def test_a_fork_has_what_is_before_a_message(api: Api, session: str) -> None:
    copy = trim(api, session, "fork", {"before_seq": 6, "key": "telegram:copy"})
    assert copy["key"] == "telegram:copy"
    assert copy["forked_from_id"] == session
    assert copy["counts"] == {"entries": 5, "messages": 4, "tool_calls": 0, "errors": 1, "decisions": 0}
    assert record(api, copy["id"]) == [(seq, False) for seq in range(1, 6)]
    assert api.window(copy["id"])["messages"] == api.window(session)["messages"][:4]
    assert window(api, session) == [1, 2, 3, 5, 6, 7]


def test_a_fork_is_numbered_without_gaps(api: Api, session: str) -> None:
    trim(api, session, "retain", {"max_messages": 2})
    copy = trim(api, session, "fork")
    assert record(api, copy["id"], "?include_hidden=true") == [(1, False), (2, False)]
    assert api.window(copy["id"])["messages"] == [user("three"), assistant("four")]
    assert [item["seq"] for item in api.append(copy["id"], user("five"))["items"]] == [3]


def test_a_fork_shows_all_that_its_origin_had_condensed(api: Api, session: str) -> None:
    Session.objects.filter(uid=session).update(consolidated_through=7, summary="They spoke.")
    copy = trim(api, session, "fork")
    assert copy["consolidated_through"] == 0
    assert window(api, copy["id"]) == [1, 2, 3, 5, 6, 7]
    assert api.window(copy["id"])["summary"] is None


def test_a_fork_before_the_first_message_is_empty(api: Api, session: str) -> None:
    copy = trim(api, session, "fork", {"before_seq": 1})
    assert copy["counts"]["entries"] == 0
    assert window(api, copy["id"]) == []


def test_a_fork_between_a_call_and_its_result_has_a_stand_in(api: Api, session: str) -> None:
    copy = trim(api, session, "fork", {"before_seq": 3})
    assert window(api, copy["id"]) == [1, 2, None]


def test_a_fork_to_a_key_with_an_open_session_is_refused(api: Api, session: str) -> None:
    api.open("telegram:2")
    for key in ("telegram:1", "telegram:2"):
        assert api.post(f"/sessions/{session}/fork", {"key": key}).status_code == 409
    assert Session.objects.count() == 2


def test_an_ended_session_can_be_forked_under_its_own_key(api: Api, session: str) -> None:
    Session.objects.filter(uid=session).update(ended_at=timezone.now(), end_reason="idle")
    copy = trim(api, session, "fork", {"key": "telegram:1"})
    assert copy["ended_at"] is None
    assert api.open("telegram:1") == copy["id"]
