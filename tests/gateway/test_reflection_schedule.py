"""The daily report: at the agent's hour, once, whatever was missed, and delivered."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from gateway_app import reflection_schedule
from gateway_app.models import Delivery
from gateway_app.reflection_schedule import last_hour, period
from sessions_app.models import Agent, Reflection
from sessions_app.reflections import write
from tests.conftest import Api, said

from .conftest import Clock


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def change(admin: Api, **fields: Any) -> dict[str, Any]:
    response = admin.send("PATCH", "/agent", fields)
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = said(response)
    return answer


def run(clock: Clock) -> int:
    return reflection_schedule.run(lambda: clock.now)


def test_it_comes_at_the_local_hour_and_once(clock: Clock, api: Api, admin: Api) -> None:
    change(admin, timezone="America/New_York", reflection_hour=7, reflection_target="local")
    api.append(api.open(), {"role": "user", "content": "hello"})
    # Noon in UTC is eight in New York: the next seven is tomorrow, at eleven in UTC.
    assert run(clock) == 0
    assert said(api.get("/agent"))["next_reflection_at"] == "2026-05-02T11:00:00+00:00"
    clock.to("2026-05-02 10:59:59")
    assert run(clock) == 0
    clock.to("2026-05-02 11:00:00")
    assert (run(clock), run(clock)) == (1, 0)
    [report] = Reflection.objects.all()
    assert (report.trigger, report.entries) == ("daily", 1)
    assert (report.since, report.until) == (at("2026-05-01 11:00"), at("2026-05-02 11:00"))
    [delivery] = Delivery.objects.all()
    assert (delivery.uid, delivery.target) == (report.delivery, "local")
    assert delivery.content.startswith("## Self-Reflection Report\n\nReviewed 1 recent entries")
    # Links are of no use in a chat.
    assert "/api/v1/" not in delivery.content
    assert said(api.get("/agent"))["next_reflection_at"] == "2026-05-03T11:00:00+00:00"


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        # Two o'clock is skipped on the 29th of March, and comes twice on the 25th of October.
        ("2026-03-27 22:00", ["2026-03-28 01:00", "2026-03-29 01:00", "2026-03-30 00:00"]),
        ("2026-10-23 22:00", ["2026-10-24 00:00", "2026-10-25 00:00", "2026-10-26 01:00"]),
    ],
)
def test_one_comes_each_day_also_when_the_clocks_change(
    clock: Clock, admin: Api, start: str, expected: list[str]
) -> None:
    clock.to(f"{start}:00")
    change(admin, timezone="Europe/Berlin", reflection_hour=2)
    run(clock)
    for text in expected:
        clock.to(f"{text}:00")
        clock.move(seconds=-1)
        before = run(clock)
        clock.move(seconds=1)
        then = run(clock)
        # The same hour of the clock comes again where it comes twice.
        clock.move(hours=1)
        assert (before, then, run(clock)) == (0, 1, 0)
    untils = Reflection.objects.order_by("pk").values_list("until", flat=True)
    assert list(untils) == [at(text) for text in expected]


def test_what_was_missed_while_nothing_ran_comes_once_and_covers_all_of_it(
    clock: Clock, api: Api, admin: Api
) -> None:
    change(admin, reflection_hour=6)
    run(clock)
    clock.to("2026-05-02 06:00:30")
    assert run(clock) == 1
    clock.to("2026-05-05 15:00:00")
    assert (run(clock), run(clock)) == (1, 0)
    newest = Reflection.objects.order_by("-pk")[0]
    assert (newest.since, newest.until) == (at("2026-05-02 06:00"), at("2026-05-05 06:00"))
    assert newest.markdown == "No conversation history to reflect on yet."
    assert said(api.get("/agent"))["next_reflection_at"] == "2026-05-06T06:00:00+00:00"


def test_switched_off_there_is_none(clock: Clock, admin: Api) -> None:
    run(clock)
    assert change(admin, reflection_enabled=False)["next_reflection_at"] is None
    clock.move(days=3)
    assert run(clock) == 0
    assert not Reflection.objects.exists()


def test_a_target_that_leads_nowhere_costs_the_delivery_and_not_the_report(clock: Clock, admin: Api) -> None:
    change(admin, reflection_target="telegram")
    run(clock)
    clock.move(days=1)
    assert run(clock) == 1
    [report] = said(admin.get("/reflections"))["items"]
    assert report["delivery_id"] is None
    assert report["delivery_error"] == "body.target: The platform telegram is not connected."
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("target", ["origin", "a:b:c:d", "!"])
def test_a_target_that_cannot_be_meant_is_refused(admin: Api, target: str) -> None:
    refused = admin.send("PATCH", "/agent", {"reflection_target": target})
    assert refused.status_code == 422
    assert said(refused)["errors"][0]["loc"] == ["body", "reflection_target"]


def test_one_agent_that_fails_keeps_no_other_from_its_report(
    clock: Clock, admin: Api, stranger: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(clock)
    clock.move(days=1)
    real = write

    def failing(agent: Agent, *rest: Any) -> Reflection:
        if agent.name == "main":
            raise RuntimeError("no")
        return real(agent, *rest)

    monkeypatch.setattr(reflection_schedule, "write", failing)
    assert run(clock) == 1
    monkeypatch.setattr(reflection_schedule, "write", real)
    assert run(clock) == 1
    assert sorted(Reflection.objects.values_list("agent__name", flat=True)) == ["main", "other"]


def test_the_hour_that_came_last() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert last_hour(at("2026-05-01 04:00"), 6, berlin) == at("2026-05-01 04:00")
    assert last_hour(at("2026-05-01 03:59"), 6, berlin) == at("2026-04-30 04:00")
    # Two o'clock is skipped on the 29th of March: the hour counts when the gap is over.
    assert last_hour(at("2026-03-29 12:00"), 2, berlin) == at("2026-03-29 01:00")


def test_a_period_begins_where_the_last_ended_within_a_week() -> None:
    until = at("2026-05-08 06:00")
    day = at("2026-05-07 06:00")
    assert period(None, until) == (day, until)
    assert period(at("2026-05-01 06:00"), until) == (at("2026-05-01 06:00"), until)
    assert period(at("2026-05-01 05:59"), until) == (day, until)
    # The hour was moved: the day is whole all the same.
    assert period(at("2026-05-07 20:00"), until) == (day, until)
