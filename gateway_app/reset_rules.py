"""When does a session end? Functions of plain values: policies, times and leases in, a decision out."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

IDLE, DAILY, ALL = "idle", "daily", "all"
# What each mode looks at, in the order in which it is named.
LOOKS_AT: dict[str, tuple[str, ...]] = {
    "none": (),
    "idle": (IDLE,),
    "daily": (DAILY,),
    "both": (IDLE, DAILY),
    "all": (IDLE, DAILY),
}
DEFAULT_MODE, DEFAULT_IDLE_MINUTES, DEFAULT_HOUR = "both", 1440, 4
BUILT_IN = "built-in"


@dataclass(frozen=True, slots=True)
class Policy:
    mode: str
    idle_minutes: int
    at_hour: int
    zone: ZoneInfo


class Chosen(NamedTuple):
    """A policy and where it comes from: the place that it was set for, or "built-in"."""

    policy: Policy
    origin: str
    place: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Decision:
    """`reasons` are all that hold; with a live lease they hold and end nothing.

    `next_at` is where the time begins in which it is due: never before it, always after it. At the very
    instant it is due by the hour and not yet by idleness, which has to be exceeded.
    """

    reset: bool
    reason: str | None
    reasons: tuple[str, ...]
    blocked_by: tuple[str, ...]
    next_at: datetime | None


def choose(
    policies: Mapping[tuple[str, str], Policy], platform: str, chat_type: str, zone: ZoneInfo
) -> Chosen | None:
    """The most specific one, whole. What was opened by a key alone, without a platform, ends by no policy
    that nobody set."""
    places = {"agent": ("", "")}
    if platform:
        places = {
            "platform and chat type": (platform, chat_type),
            "platform": (platform, ""),
            "chat type": ("", chat_type),
            **places,
        }
    for origin, place in places.items():
        if place in policies:
            return Chosen(policies[place], origin, place)
    return Chosen(built_in(zone), BUILT_IN, ("", "")) if platform else None


def built_in(zone: ZoneInfo) -> Policy:
    return Policy(DEFAULT_MODE, DEFAULT_IDLE_MINUTES, DEFAULT_HOUR, zone)


def decide(
    policy: Policy, last_activity: datetime, now: datetime, leases: Mapping[str, datetime]
) -> Decision:
    """`leases` are names and when each runs out."""
    # A clock that jumped: what lies in the future is as good as just now.
    last = min(last_activity, now)
    live = {name: until for name, until in leases.items() if until > now}
    begins = {condition: _BEGINS[condition](policy, last) for condition in LOOKS_AT[policy.mode]}
    reasons = tuple(condition for condition, begin in begins.items() if _HOLDS[condition](begin, now))
    due = bool(reasons) and (policy.mode != ALL or len(reasons) == len(begins))
    reset = due and not live
    return Decision(
        reset,
        _named(policy.mode, reasons) if reset else None,
        reasons,
        tuple(sorted(live)),
        _next(policy.mode, begins, live),
    )


def hour_after(moment: datetime, at_hour: int, zone: ZoneInfo) -> datetime:
    """The first time, strictly later, at which the local clock comes to this hour."""
    day = moment.astimezone(zone).date() - timedelta(days=1)
    while (found := hour_of(day, at_hour, zone)) <= moment:
        day += timedelta(days=1)
    return found


def hour_of(day: date, at_hour: int, zone: ZoneInfo) -> datetime:
    """When the local clock first shows this hour of that day, or anything later.

    So an hour that comes twice counts the first time, and one that is skipped counts when the gap is over.
    """
    wall = datetime.combine(day, time(at_hour))
    later = wall.replace(tzinfo=zone).astimezone(UTC)
    earlier = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if earlier >= later:
        return later
    # In a gap the two readings lie on both sides of its end, which falls on a whole second.
    while later - earlier > timedelta(seconds=1):
        middle = earlier + timedelta(seconds=(later - earlier) // timedelta(seconds=2))
        if middle.astimezone(zone).replace(tzinfo=None) >= wall:
            later = middle
        else:
            earlier = middle
    return later


def _named(mode: str, reasons: tuple[str, ...]) -> str:
    return ALL if mode == ALL else reasons[0]


def _next(mode: str, begins: Mapping[str, datetime], live: Mapping[str, datetime]) -> datetime | None:
    if not begins:
        return None
    due = (max if mode == ALL else min)(begins.values())
    return max(due, *live.values()) if live else due


def _idle_since(policy: Policy, last: datetime) -> datetime:
    return last + timedelta(minutes=policy.idle_minutes)


def _past_the_hour_since(policy: Policy, last: datetime) -> datetime:
    """That the most recent hour lies after the last activity is: the first hour after it has come."""
    return hour_after(last, policy.at_hour, policy.zone)


_BEGINS = {IDLE: _idle_since, DAILY: _past_the_hour_since}
_HOLDS = {
    IDLE: lambda begin, now: now > begin,
    DAILY: lambda begin, now: now >= begin,
}
