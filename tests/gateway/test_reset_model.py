"""The rules beside a slow model that knows nothing of time zones but how to read the clock of a place.

It walks minute by minute and writes down when the clock comes to the hour: the first time that it shows
something later than whatever it has shown before and the hour lies in between.
"""

import random
from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gateway_app.reset_rules import Policy, decide

MINUTE, TICK = timedelta(minutes=1), timedelta(microseconds=1)
DAYS, CASES = 9, 250
# Each begins a few days before the clocks change there.
PLACES = [
    ("Europe/Berlin", "2026-03-25"),
    ("Europe/Berlin", "2026-10-21"),
    ("America/New_York", "2026-03-04"),
    ("America/New_York", "2026-10-28"),
    ("Australia/Lord_Howe", "2026-04-01"),
    ("Australia/Lord_Howe", "2026-09-30"),
    ("America/Santiago", "2026-04-01"),
    ("America/Santiago", "2026-09-02"),
    ("Pacific/Apia", "2011-12-26"),
    ("America/St_Johns", "2010-11-03"),
    ("Antarctica/Troll", "2026-03-25"),
    ("Africa/Casablanca", "2026-02-11"),
    ("Asia/Kathmandu", "2026-06-01"),
    ("UTC", "2026-02-26"),
]


class Walk:
    def __init__(self, zone: ZoneInfo, start: datetime) -> None:
        self.minutes = [start + MINUTE * number for number in range(DAYS * 1440)]
        latest, self.shown = start.replace(tzinfo=None) - timedelta(days=2), []
        for minute in self.minutes:
            latest = max(latest, minute.astimezone(zone).replace(tzinfo=None))
            self.shown.append(latest)

    def hours(self, at_hour: int) -> list[datetime]:
        """When the clock came to this hour."""
        marks = [(shown - timedelta(hours=at_hour)).date() for shown in self.shown]
        return [self.minutes[place] for place in range(1, len(marks)) if marks[place] > marks[place - 1]]


def due(policy: Policy, hours: list[datetime], last: datetime, now: datetime) -> tuple[bool, str | None]:
    last = min(last, now)
    idle = now - last > MINUTE * policy.idle_minutes
    recent = bisect_right(hours, now)
    daily = recent > 0 and last < hours[recent - 1]
    both = "idle" if idle else "daily" if daily else None
    named = {
        "none": None,
        "idle": "idle" if idle else None,
        "daily": "daily" if daily else None,
        "both": both,
        "all": "all" if idle and daily else None,
    }[policy.mode]
    return named is not None, named


@pytest.mark.parametrize(("name", "start"), PLACES)
def test_the_rules_agree_with_the_walk(name: str, start: str) -> None:
    source, zone = random.Random(f"{name} {start}"), ZoneInfo(name)  # noqa: S311 - the same cases each time
    first = datetime.fromisoformat(start).replace(tzinfo=UTC)
    walk = Walk(zone, first)
    hours = {at_hour: walk.hours(at_hour) for at_hour in range(24)}
    for _ in range(CASES):
        at_hour = source.choice([source.randrange(24), source.choice([0, 1, 2, 3, 23])])
        mode = source.choice(["none", "idle", "daily", "both", "all"])
        policy = Policy(mode, source.choice([1, 30, 60, 1439, 1440, 2880]), at_hour, zone)
        last, now = (moment(source, first, hours[at_hour]) for _ in range(2))
        decision = decide(policy, last, now, {})
        assert (decision.reset, decision.reason) == due(policy, hours[at_hour], last, now), (
            policy,
            last,
            now,
        )
        check_next(policy, hours[at_hour], min(last, now), decision.next_at)


def moment(source: random.Random, first: datetime, hours: list[datetime]) -> datetime:
    """From the middle of the walk; often just at one of the hours, or next to it."""
    inside = [hour for hour in hours if timedelta(days=2) < hour - first < timedelta(days=6)]
    if source.random() < 0.4:
        return source.choice(inside) + source.choice([-TICK, TICK * 0, TICK, MINUTE])
    return first + timedelta(days=2) + source.randrange(4 * 86_400_000) * timedelta(milliseconds=1)


def check_next(policy: Policy, hours: list[datetime], last: datetime, next_at: datetime | None) -> None:
    """It is due from there on, and not before, if nothing more happens."""
    if policy.mode == "none":
        assert next_at is None
        return
    assert next_at is not None
    assert not due(policy, hours, last, next_at - TICK)[0]
    assert due(policy, hours, last, next_at + TICK)[0]
    assert decide(policy, last, next_at + TICK, {}).reset
    assert not decide(policy, last, next_at - TICK, {}).reset
