from typing import Any

import pytest

from sessions_app.models import Agent
from tests.conftest import Api, said


def test_a_new_agent_lives_in_utc_with_the_usual_budgets(reader: Api) -> None:
    agent = said(reader.get("/agent"))
    created_at = agent.pop("created_at")
    assert created_at.endswith("+00:00")
    expected = {
        "name": "main",
        "timezone": "UTC",
        "token_budget": 32_000,
        "consolidate_after_minutes": 15,
    }
    assert {name: agent[name] for name in expected} == expected


def test_an_admin_changes_what_is_given_and_nothing_else(admin: Api, stranger: Api) -> None:
    before = said(admin.get("/agent"))
    changed = admin.send("PATCH", "/agent", {"timezone": "America/New_York", "token_budget": 8000})
    assert changed.status_code == 200
    assert said(changed) == {**before, "timezone": "America/New_York", "token_budget": 8000}
    assert said(admin.get("/agent")) == said(changed)
    assert said(stranger.get("/agent"))["timezone"] == "UTC"


def test_nothing_given_changes_nothing(admin: Api) -> None:
    before = said(admin.get("/agent"))
    assert said(admin.send("PATCH", "/agent", {})) == before
    assert said(admin.send("PATCH", "/agent", {"timezone": None, "token_budget": None})) == before


def test_times_without_an_offset_are_read_in_the_new_zone(admin: Api) -> None:
    admin.send("PATCH", "/agent", {"timezone": "Asia/Kolkata"})
    session = admin.open()
    admin.append(session, {"role": "user", "content": "hi", "created_at": "2026-05-01T10:00:00"})
    [message] = said(admin.get(f"/sessions/{session}/messages"))["items"]
    assert message["created_at"] == "2026-05-01T04:30:00+00:00"


@pytest.mark.parametrize(
    ("body", "place", "kind"),
    [
        ({"timezone": "Mars/Olympus"}, "timezone", "timezone"),
        ({"timezone": ""}, "timezone", "timezone"),
        ({"timezone": "../etc/passwd"}, "timezone", "timezone"),
        ({"timezone": "europe/berlin"}, "timezone", "timezone"),
        ({"timezone": "x" * 65}, "timezone", "string_too_long"),
        ({"timezone": 1}, "timezone", "string_type"),
        ({"token_budget": 0}, "token_budget", "greater_than_equal"),
        ({"token_budget": "9"}, "token_budget", "int_type"),
        ({"token_budget": True}, "token_budget", "int_type"),
        ({"consolidate_after_minutes": -1}, "consolidate_after_minutes", "greater_than_equal"),
        ({"name": "other"}, "name", "extra_forbidden"),
    ],
)
def test_a_wrong_value_is_named_and_changes_nothing(
    admin: Api, body: dict[str, Any], place: str, kind: str
) -> None:
    before = Agent.objects.values().get()
    answer = admin.send("PATCH", "/agent", body)
    assert answer.status_code == 422
    [error] = said(answer)["errors"]
    assert (error["loc"], error["type"]) == (["body", place], kind)
    assert Agent.objects.values().get() == before
