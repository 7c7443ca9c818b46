"""Policies over HTTP, and what they do to sessions that are there already."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gateway_app import policies
from gateway_app.models import ResetPolicy
from sessions_app.models import Agent
from tests.conftest import Api, said

from .conftest import Clock, Resolve

Policy = Callable[..., dict[str, Any]]
Sweep = Callable[[], int]


def explain(api: Api, session: str) -> dict[str, Any]:
    response = api.get(f"/sessions/{session}/reset-decision")
    assert response.status_code == 200
    decision: dict[str, Any] = said(response)
    return decision


def test_a_policy_is_stored_with_its_defaults_and_listed(policy: Policy, reader: Api) -> None:
    made = policy("daily", platform="telegram")
    assert made == {
        "id": made["id"],
        "platform": "telegram",
        "chat_type": None,
        "mode": "daily",
        "idle_minutes": 1440,
        "at_hour": 4,
        "timezone": None,
    }
    assert said(reader.get("/reset-policies")) == {"items": [made], "next_cursor": None}


def test_the_same_place_again_replaces_it_whole(policy: Policy, reader: Api) -> None:
    first = policy("idle", platform="telegram", chat_type="dm", idle_minutes=5, timezone="Europe/Berlin")
    second = policy("daily", platform="telegram", chat_type="dm", at_hour=6)
    assert second == {**first, "mode": "daily", "idle_minutes": 1440, "at_hour": 6, "timezone": None}
    assert said(reader.get("/reset-policies"))["items"] == [second]


def test_pages(policy: Policy, reader: Api) -> None:
    made = [policy("none", platform=name) for name in ("a", "b", "c")]
    first = said(reader.get("/reset-policies?limit=2"))
    assert first["items"] == made[:2]
    rest = said(reader.get(f"/reset-policies?limit=2&cursor={first['next_cursor']}"))
    assert rest == {"items": made[2:], "next_cursor": None}


def test_a_removed_policy_is_gone(policy: Policy, admin: Api, resolve: Resolve) -> None:
    made = policy("none")
    assert resolve()["session"]["next_reset_at"] is None
    assert admin.send("DELETE", f"/reset-policies/{made['id']}").status_code == 204
    assert said(admin.get("/reset-policies"))["items"] == []
    assert resolve()["session"]["next_reset_at"] == "2026-05-02T04:00:00+00:00"
    assert admin.send("DELETE", f"/reset-policies/{made['id']}").status_code == 404


@pytest.mark.parametrize("name", ["x", "-1", "99999999999999999999", "1.5", "²"])
def test_what_is_no_policy_is_not_found(name: str, admin: Api) -> None:
    assert admin.send("DELETE", f"/reset-policies/{name}").status_code == 404


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mode", "weekly"),
        ("mode", None),
        ("idle_minutes", 0),
        ("idle_minutes", 5_256_001),
        ("idle_minutes", "60"),
        ("at_hour", 24),
        ("at_hour", -1),
        ("timezone", "Mars/Olympus"),
        ("chat_type", "room"),
        ("hour", 4),
    ],
)
def test_a_wrong_field_is_named(field: str, value: Any, admin: Api) -> None:
    response = admin.send("PUT", "/reset-policies", {"mode": "both", field: value})
    assert response.status_code == 422
    assert said(response)["errors"][0]["loc"] == ["body", field]
    assert not ResetPolicy.objects.exists()


def test_only_admins_set_and_remove_policies(api: Api, policy: Policy) -> None:
    made = policy("none")
    assert api.send("PUT", "/reset-policies", {"mode": "idle"}).status_code == 403
    assert api.send("DELETE", f"/reset-policies/{made['id']}").status_code == 403


def test_policies_of_one_agent_are_nothing_to_another(
    policy: Policy, stranger: Api, resolve: Resolve
) -> None:
    made = policy("none")
    assert said(stranger.get("/reset-policies"))["items"] == []
    assert stranger.send("DELETE", f"/reset-policies/{made['id']}").status_code == 404
    assert resolve(who=stranger)["session"]["next_reset_at"] == "2026-05-02T04:00:00+00:00"


def test_there_are_only_so_many(policy: Policy, admin: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "MOST", 2)
    policy("none", platform="a")
    policy("none", platform="b")
    policy("idle", platform="b")
    assert admin.send("PUT", "/reset-policies", {"mode": "idle"}).status_code == 409


def test_the_agents_row_holds_a_copy(policy: Policy, admin: Api) -> None:
    first = policy("all", platform="telegram", timezone="Europe/Berlin")
    policy("idle", chat_type="group", idle_minutes=7)
    stored = Agent.objects.get(name="main").reset_policies
    assert orjson.loads(stored) == [
        ["telegram", "", "all", 1440, 4, "Europe/Berlin"],
        ["", "group", "idle", 7, 4, ""],
    ]
    admin.send("DELETE", f"/reset-policies/{first['id']}")
    assert orjson.loads(Agent.objects.get(name="main").reset_policies) == [["", "group", "idle", 7, 4, ""]]


@pytest.mark.parametrize(
    ("source", "mode"),
    [
        ({"platform": "telegram", "chat_type": "dm"}, "none"),
        ({"platform": "telegram", "chat_type": "group"}, "idle"),
        ({"platform": "discord", "chat_type": "dm"}, "daily"),
        ({"platform": "discord", "chat_type": "group"}, "all"),
    ],
)
def test_the_most_specific_one_applies(
    source: dict[str, str], mode: str, policy: Policy, resolve: Resolve, reader: Api
) -> None:
    policy("all")
    policy("daily", chat_type="dm")
    policy("idle", platform="telegram")
    policy("none", platform="telegram", chat_type="dm")
    found = explain(reader, resolve(**source)["session"]["id"])["policy"]
    assert found["mode"] == mode


def test_a_session_of_a_key_alone_ends_only_by_a_policy_for_the_agent(
    policy: Policy, api: Api, clock: Clock, sweep_all: Sweep
) -> None:
    early = api.open("own:1")
    assert explain(api, early)["policy"] is None
    policy("idle", platform="telegram", idle_minutes=1)
    sweep_all()
    assert said(api.get(f"/sessions/{early}"))["next_reset_at"] is None
    policy("idle", idle_minutes=60)
    late = api.open("own:2")
    clock.move(minutes=60, microseconds=1)
    sweep_all()
    for session in (early, late):
        clock.move(seconds=1)
        sweep_all()
        assert said(api.get(f"/sessions/{session}"))["end_reason"] == "idle"


def test_a_changed_policy_reaches_sessions_that_are_open_already(
    policy: Policy, resolve: Resolve, clock: Clock, sweep_all: Sweep, api: Api
) -> None:
    policy("none")
    sweep_all()
    sessions = [resolve(chat_id=str(number))["session"]["id"] for number in range(3)]
    clock.move(days=3)
    assert sweep_all() == 0
    policy("idle", platform="telegram", idle_minutes=30)
    assert sweep_all() > 0
    assert {said(api.get(f"/sessions/{session}"))["end_reason"] for session in sessions} == {"idle"}
    assert Agent.objects.get(name="main").reset_recheck_after is None


def test_the_hour_is_that_of_the_policys_zone_else_of_the_agents(
    policy: Policy, resolve: Resolve, admin: Api, *, clock: Clock, sweep_all: Sweep, api: Api
) -> None:
    policy("daily", platform="discord", timezone="America/New_York")
    telegram, discord = resolve()["session"], resolve(platform="discord")["session"]
    assert telegram["next_reset_at"] == "2026-05-02T04:00:00+00:00"
    assert discord["next_reset_at"] == "2026-05-02T08:00:00+00:00"
    admin.send("PATCH", "/agent", {"timezone": "Asia/Tokyo"})
    assert said(api.get(f"/sessions/{telegram['id']}"))["next_reset_at"] == "2026-05-01T19:00:00+00:00"
    assert said(api.get(f"/sessions/{discord['id']}"))["next_reset_at"] == "2026-05-02T08:00:00+00:00"
    sweep_all()
    clock.to("2026-05-01 19:00:01")
    sweep_all()
    assert said(api.get(f"/sessions/{telegram['id']}"))["end_reason"] == "daily"
    assert said(api.get(f"/sessions/{discord['id']}"))["ended_at"] is None


def test_a_decision_is_explained(policy: Policy, resolve: Resolve, clock: Clock, api: Api) -> None:
    policy("all", platform="telegram", idle_minutes=30, timezone="Europe/Berlin")
    session = resolve()["session"]["id"]
    api.send("PUT", f"/sessions/{session}/leases/import", {"ttl_seconds": 86_400})
    clock.move(minutes=31)
    applied = {
        "origin": "platform",
        "mode": "all",
        "idle_minutes": 30,
        "at_hour": 4,
        "timezone": "Europe/Berlin",
    }
    assert explain(api, session) == {
        "policy": applied,
        "last_activity_at": "2026-05-01T12:00:00+00:00",
        "reset": False,
        "reason": None,
        "reasons": ["idle"],
        "blocked_by": ["import"],
        "next_reset_at": "2026-05-02T12:00:00+00:00",
        "ended_at": None,
        "end_reason": None,
    }
    api.send("DELETE", f"/sessions/{session}/leases/import")
    assert explain(api, session)["next_reset_at"] == "2026-05-02T02:00:00+00:00"
    clock.to("2026-05-02 02:00")
    due = explain(api, session)
    assert (due["reset"], due["reason"], due["reasons"]) == (True, "all", ["idle", "daily"])


def test_an_ended_session_has_nothing_to_decide(resolve: Resolve, api: Api, clock: Clock) -> None:
    session = resolve()["session"]["id"]
    api.post(f"/sessions/{session}/reset")
    clock.move(days=3)
    found = explain(api, session)
    assert (found["reset"], found["reasons"], found["next_reset_at"]) == (False, [], None)


@pytest.mark.parametrize("by", ["resolve", "sweep"])
def test_what_ended_a_session_is_explained_though_the_policy_has_changed(
    by: str, policy: Policy, resolve: Resolve, *, clock: Clock, api: Api, sweep_all: Callable[[], int]
) -> None:
    policy("both", platform="telegram", idle_minutes=60)
    session = resolve()["session"]["id"]
    clock.to("2026-05-02 05:00")
    if by == "resolve":
        resolve(201)
    else:
        sweep_all()
    policy("none", platform="telegram")
    clock.move(days=1)
    assert explain(api, session) == {
        "policy": {
            "origin": "platform",
            "mode": "both",
            "idle_minutes": 60,
            "at_hour": 4,
            "timezone": "UTC",
        },
        "last_activity_at": "2026-05-01T12:00:00+00:00",
        "reset": False,
        "reason": None,
        "reasons": ["idle", "daily"],
        "blocked_by": [],
        "next_reset_at": None,
        "ended_at": "2026-05-02T05:00:00+00:00",
        "end_reason": "idle",
    }
    api.post(f"/sessions/{session}/reopen")
    again = explain(api, session)
    assert (again["policy"]["mode"], again["reasons"], again["end_reason"]) == ("none", [], None)


def test_a_stranger_gets_no_explanation(resolve: Resolve, stranger: Api) -> None:
    session = resolve()["session"]["id"]
    assert stranger.get(f"/sessions/{session}/reset-decision").status_code == 404


def test_policies_cost_a_request_no_query(policy: Policy, resolve: Resolve, api: Api) -> None:
    session = resolve()["session"]["id"]
    api.get(f"/sessions/{session}")

    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert api.get(f"/sessions/{session}").status_code == 200
        return len(seen)

    before = queries()
    policy("idle", idle_minutes=5)
    assert queries() == before
