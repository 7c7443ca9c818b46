"""The session object, and what changes it."""

from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine

from tests.conftest import Api, said

NOW = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
AT = "2026-05-01T10:00:00+00:00"


def change(api: Api, session: str, body: dict[str, Any]) -> dict[str, Any]:
    response = api.send("PATCH", f"/sessions/{session}", body)
    assert response.status_code == 200, response.content
    changed: dict[str, Any] = said(response)
    return changed


def test_a_new_session_has_exactly_these_fields(api: Api) -> None:
    with time_machine.travel(NOW, tick=False):
        response = api.post(
            "/sessions", {"key": "telegram:1", "title": "Plans", "metadata": {"a": 1, "b": None}}
        )
    assert response.status_code == 201
    opened = said(response)
    next_reset_at = opened.pop("next_reset_at")
    assert next_reset_at is None or next_reset_at > AT
    expected = {
        "id": opened["id"],
        "agent": "main",
        "key": "telegram:1",
        "title": "Plans",
        "platform": None,
        "chat_type": None,
        "source": None,
        "created_at": AT,
        "updated_at": AT,
        "ended_at": None,
        "end_reason": None,
        "previous_id": None,
        "forked_from_id": None,
        "metadata": {"a": 1},
        "counts": {"entries": 0, "messages": 0, "tool_calls": 0, "errors": 0, "decisions": 0},
        "tokens": {"input": 0, "output": 0, "total": 0},
        "cost_usd": 0,
        "consolidated_through": 0,
        "last_activity_at": AT,
        "reset_blocked_by": [],
        "was_auto_reset": False,
        "reset_reason": None,
    }
    assert opened == expected | {"created": True}
    read = said(api.get(f"/sessions/{opened['id']}"))
    assert {name: value for name, value in read.items() if name != "next_reset_at"} == expected


def test_the_open_session_of_a_key_is_given_again_as_it_is(api: Api) -> None:
    first = api.open("k", title="One", metadata={"a": 1})
    response = api.post("/sessions", {"key": "k", "title": "Two", "metadata": {"a": 2}})
    again = said(response)
    assert (response.status_code, again["created"], again["id"]) == (200, False, first)
    assert (again["title"], again["metadata"]) == ("One", {"a": 1})


def test_metadata_is_merged_at_its_first_level_and_null_removes(api: Api) -> None:
    session = api.open(metadata={"keep": 1, "drop": 2, "deep": {"x": 1, "y": 2}})
    changed = change(api, session, {"metadata": {"drop": None, "deep": {"x": 3}, "new": [None, 1.5, "é"]}})
    expected = {"keep": 1, "deep": {"x": 3}, "new": [None, 1.5, "é"]}
    assert changed["metadata"] == expected
    assert change(api, session, {"metadata": None})["metadata"] == expected
    assert said(api.get(f"/sessions/{session}"))["metadata"] == expected


def test_a_title_is_set_kept_and_taken_away(api: Api) -> None:
    session = api.open()
    assert change(api, session, {"title": "Plans"})["title"] == "Plans"
    assert change(api, session, {"metadata": {"a": 1}})["title"] == "Plans"
    assert change(api, session, {"title": None})["title"] is None


def test_a_change_is_not_activity(api: Api) -> None:
    with time_machine.travel(NOW, tick=False):
        session = api.open()
    changed = change(api, session, {"title": "later"})
    assert changed["last_activity_at"] == AT
    assert changed["updated_at"] > AT


@pytest.mark.parametrize("number", [1e300, -1e300, 1e22, 2.0**63, 0.1, 5e-324, 2**63 - 1, -(2**63 - 1), 1e5])
def test_numbers_in_metadata_stay_what_they_are_on_every_database(api: Api, number: float) -> None:
    session = api.open(metadata={"n": number})
    assert change(api, session, {"title": "t"})["metadata"] == {"n": number}
    assert said(api.get(f"/sessions/{session}"))["metadata"] == {"n": number}
    assert said(api.get("/sessions"))["items"][0]["metadata"] == {"n": number}
    api.append(session, {"role": "user", "content": "x", "metadata": {"n": number}})
    (message,) = said(api.get(f"/sessions/{session}/messages"))["items"]
    assert message["metadata"] == {"n": number}


ALIKE = [
    "Key",
    "key",
    "KEY",
    "caf\u00e9",
    "cafe\u0301",
    "\uff4bey",
    "key ",
    " key",
    "ke\u200by",
    "stra\u00dfe",
    "strasse",
]


def test_keys_that_only_look_alike_are_different_sessions(api: Api) -> None:
    ids = {key: api.open(key) for key in ALIKE}
    assert len(set(ids.values())) == len(ALIKE)
    assert {key: api.open(key) for key in ALIKE} == ids


@pytest.mark.parametrize(
    "text",
    [
        "日本語のキー",
        "ключ",
        "مفتاح עברית",
        "\u202egnp.exe",
        "👩\u200d👩\u200d👧 🏴\U000e0067",
        "a\nb\tc",
        "' OR 1=1 --",
        "%s {} \\",
    ],
)
def test_keys_and_titles_of_any_script_come_back_to_the_letter(api: Api, text: str) -> None:
    session = api.open(text, title=text)
    read = said(api.get(f"/sessions/{session}"))
    assert (read["key"], read["title"]) == (text, text)


def test_keys_may_have_512_characters_of_any_size(api: Api) -> None:
    for character in ("k", "é", "漢", "👍"):
        session = api.open(character * 512, title=character * 512)
        assert said(api.get(f"/sessions/{session}"))["key"] == character * 512
        response = api.post("/sessions", {"key": character * 513})
        assert response.status_code == 422
        assert said(response)["errors"][0]["loc"] == ["body", "key"]


def test_an_agent_never_meets_the_session_of_another(api: Api, stranger: Api) -> None:
    mine, theirs = api.open("shared"), stranger.open("shared")
    assert mine != theirs
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"title": "x"}),
        ("DELETE", "", None),
        ("GET", "/messages", None),
        ("POST", "/messages", {"role": "user", "content": "x"}),
        ("GET", "/summary", None),
        ("POST", "/usage", {"input_tokens": 1, "output_tokens": 1}),
    ):
        response = api.send(method, f"/sessions/{theirs}{path}", body)
        assert (response.status_code, method, path) == (404, method, path)
    stranger.append(theirs, {"role": "user", "content": "x"})
    assert api.get(f"/messages/{theirs}.1").status_code == 404
    assert [item["id"] for item in said(api.get("/sessions"))["items"]] == [mine]
