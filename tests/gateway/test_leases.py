"""Leases: running work keeps its session from policies, as long as it says so."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from gateway_app.models import Lease
from sessions_app.models import Session
from tests.conftest import Api, said

from .conftest import Clock, Resolve

Policy = Callable[..., dict[str, Any]]
Sweep = Callable[[], int]


def hold(api: Api, session: str, name: str = "job", seconds: int = 600) -> dict[str, Any]:
    response = api.send("PUT", f"/sessions/{session}/leases/{quote(name)}", {"ttl_seconds": seconds})
    assert response.status_code == 200, response.content
    lease: dict[str, Any] = said(response)
    return lease


def blocked_by(api: Api, session: str) -> list[str]:
    names: list[str] = said(api.get(f"/sessions/{session}"))["reset_blocked_by"]
    return names


@pytest.fixture
def session(resolve: Resolve, policy: Policy) -> str:
    """Ends half an hour after noon, unless something happens."""
    policy("idle", idle_minutes=30)
    session_id: str = resolve()["session"]["id"]
    return session_id


def test_it_is_started_and_renewed(session: str, api: Api, clock: Clock) -> None:
    noon, later = "2026-05-01T12:00:00+00:00", "2026-05-01T12:05:00+00:00"
    started = {
        "name": "job",
        "created_at": noon,
        "renewed_at": noon,
        "expires_at": "2026-05-01T12:10:00+00:00",
    }
    assert hold(api, session) == started
    clock.move(minutes=5)
    renewed = {**started, "renewed_at": later, "expires_at": "2026-05-01T12:15:00+00:00"}
    assert hold(api, session) == renewed
    assert said(api.get(f"/sessions/{session}/leases")) == {"items": [renewed], "next_cursor": None}


def test_a_session_shows_who_blocks_it_and_until_when(session: str, api: Api) -> None:
    hold(api, session, "b", 7200)
    hold(api, session, "a", 60)
    shown = said(api.get(f"/sessions/{session}"))
    assert shown["reset_blocked_by"] == ["a", "b"]
    assert shown["next_reset_at"] == "2026-05-01T14:00:00+00:00"
    assert said(api.get("/sessions"))["items"][0]["reset_blocked_by"] == ["a", "b"]


def test_while_it_is_renewed_no_policy_ends_the_session(
    session: str, api: Api, clock: Clock, sweep_all: Sweep
) -> None:
    for _ in range(10):
        hold(api, session)
        clock.move(minutes=9)
        sweep_all()
    assert said(api.get(f"/sessions/{session}"))["ended_at"] is None


def test_once_it_has_run_out_it_blocks_nothing(
    session: str, api: Api, clock: Clock, sweep_all: Sweep
) -> None:
    hold(api, session, seconds=3600)
    clock.move(minutes=59)
    sweep_all()
    assert blocked_by(api, session) == ["job"]
    clock.move(minutes=1)
    assert blocked_by(api, session) == []
    clock.move(seconds=1)
    sweep_all()
    assert said(api.get(f"/sessions/{session}"))["end_reason"] == "idle"
    assert not Lease.objects.exists()


def test_an_expired_one_is_forgotten_and_the_session_goes_on(
    session: str, api: Api, clock: Clock, sweep_all: Sweep
) -> None:
    sweep_all()
    hold(api, session, "short", 60)
    hold(api, session, "long", 600)
    clock.move(minutes=2)
    assert sweep_all() == 1
    assert [lease.name for lease in Lease.objects.all()] == ["long"]
    clock.move(minutes=10)
    assert sweep_all() == 1
    assert Session.objects.get(uid=session).leased_until is None


def test_ended_early_the_session_is_due_at_its_own_time(
    session: str, api: Api, clock: Clock, sweep_all: Sweep
) -> None:
    hold(api, session, seconds=86_400)
    clock.move(minutes=31)
    sweep_all()
    assert said(api.get(f"/sessions/{session}"))["ended_at"] is None
    assert api.send("DELETE", f"/sessions/{session}/leases/job").status_code == 204
    sweep_all()
    assert said(api.get(f"/sessions/{session}"))["end_reason"] == "idle"


def test_renewed_for_a_shorter_time_it_ends_sooner(
    session: str, api: Api, clock: Clock, sweep_all: Sweep
) -> None:
    hold(api, session, seconds=86_400)
    clock.move(minutes=31)
    sweep_all()
    hold(api, session, seconds=1)
    clock.move(seconds=2)
    sweep_all()
    assert said(api.get(f"/sessions/{session}"))["end_reason"] == "idle"


def test_ending_what_is_not_there_is_no_mistake(session: str, api: Api) -> None:
    assert api.send("DELETE", f"/sessions/{session}/leases/none").status_code == 204


def test_an_ended_session_cannot_be_held(session: str, api: Api) -> None:
    hold(api, session)
    api.post(f"/sessions/{session}/reset")
    response = api.send("PUT", f"/sessions/{session}/leases/job", {"ttl_seconds": 60})
    assert response.status_code == 409
    assert api.send("DELETE", f"/sessions/{session}/leases/job").status_code == 204


@pytest.mark.parametrize("name", ["a/b", "ü", "run 7: 50 %", "x" * 240])
def test_a_name_may_be_almost_anything(name: str, session: str, api: Api) -> None:
    assert hold(api, session, name)["name"] == name
    assert blocked_by(api, session) == [name]
    assert api.send("DELETE", f"/sessions/{session}/leases/{quote(name)}").status_code == 204
    assert blocked_by(api, session) == []


def test_a_name_has_at_most_240_characters(session: str, api: Api) -> None:
    response = api.send("PUT", f"/sessions/{session}/leases/{'x' * 241}", {"ttl_seconds": 60})
    assert response.status_code == 422
    assert said(response)["errors"][0]["loc"] == ["path", "name"]


@pytest.mark.parametrize("seconds", [0, -1, 86_401, "60", 1.5, None])
def test_a_time_to_live_is_a_second_to_a_day(seconds: Any, session: str, api: Api) -> None:
    response = api.send("PUT", f"/sessions/{session}/leases/job", {"ttl_seconds": seconds})
    assert response.status_code == 422
    assert said(response)["errors"][0]["loc"] == ["body", "ttl_seconds"]


def test_pages(session: str, api: Api) -> None:
    made = [hold(api, session, name) for name in "cab"]
    first = said(api.get(f"/sessions/{session}/leases?limit=2"))
    assert first["items"] == made[:2]
    rest = said(api.get(f"/sessions/{session}/leases?limit=2&cursor={first['next_cursor']}"))
    assert rest == {"items": made[2:], "next_cursor": None}


def test_strangers_and_readers_hold_nothing(session: str, stranger: Api, reader: Api) -> None:
    path = f"/sessions/{session}/leases"
    assert stranger.send("PUT", f"{path}/job", {"ttl_seconds": 60}).status_code == 404
    assert stranger.send("DELETE", f"{path}/job").status_code == 404
    assert stranger.get(path).status_code == 404
    assert reader.send("PUT", f"{path}/job", {"ttl_seconds": 60}).status_code == 403
    assert reader.send("DELETE", f"{path}/job").status_code == 403
    assert reader.get(path).status_code == 200
