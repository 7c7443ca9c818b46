"""When a session is due: tables worked out by hand from the clocks of real places."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gateway_app.reset_rules import Policy, built_in, choose, decide, hour_of

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
TICK = timedelta(microseconds=1)
UTC_ZONE = ZoneInfo("UTC")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def policy(mode: str, idle_minutes: int = 60, at_hour: int = 4, zone: str = "UTC") -> Policy:
    return Policy(mode, idle_minutes, at_hour, ZoneInfo(zone))


LAST = at("2026-05-01 12:00")


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (at("2026-05-01 12:59"), False),
        (at("2026-05-01 13:00"), False),
        (at("2026-05-01 13:00") + TICK, True),
    ],
)
def test_idle_has_to_be_exceeded(now: datetime, due: bool) -> None:
    decision = decide(policy("idle"), LAST, now, {})
    assert (decision.reset, decision.reason) == (due, "idle" if due else None)
    assert decision.next_at == at("2026-05-01 13:00")


@pytest.mark.parametrize(
    ("last", "now", "due"),
    [
        ("2026-05-01 03:59:59.999999", "2026-05-01 04:00", True),
        ("2026-05-01 04:00", "2026-05-01 04:00", False),
        ("2026-05-01 04:00", "2026-05-02 03:59:59.999999", False),
        ("2026-05-01 04:00", "2026-05-02 04:00", True),
        ("2026-05-01 23:00", "2026-05-02 03:00", False),
        ("2026-04-20 12:00", "2026-05-02 03:00", True),
    ],
)
def test_daily_compares_with_the_most_recent_hour(last: str, now: str, due: bool) -> None:
    decision = decide(policy("daily"), at(last), at(now), {})
    assert (decision.reset, decision.reason) == (due, "daily" if due else None)


@pytest.mark.parametrize(
    ("mode", "now", "reason", "reasons", "next_at"),
    [
        # Idle from 13:00 on, past the hour from 04:00 on.
        ("none", "2026-05-09 00:00", None, (), None),
        ("both", "2026-05-01 12:30", None, (), "2026-05-01 13:00"),
        ("both", "2026-05-01 14:00", "idle", ("idle",), "2026-05-01 13:00"),
        ("both", "2026-05-02 05:00", "idle", ("idle", "daily"), "2026-05-01 13:00"),
        ("all", "2026-05-01 14:00", None, ("idle",), "2026-05-02 04:00"),
        ("all", "2026-05-02 04:00", "all", ("idle", "daily"), "2026-05-02 04:00"),
        ("daily", "2026-05-02 05:00", "daily", ("daily",), "2026-05-02 04:00"),
    ],
)
def test_each_mode_names_its_reason_and_all_that_hold(
    mode: str, now: str, reason: str | None, reasons: tuple[str, ...], next_at: str | None
) -> None:
    decision = decide(policy(mode), LAST, at(now), {})
    assert decision.reason == reason
    assert decision.reset is (reason is not None)
    assert decision.reasons == reasons
    assert decision.next_at == (None if next_at is None else at(next_at))


def test_both_names_daily_where_the_hour_comes_first() -> None:
    decision = decide(policy("both", idle_minutes=1440), LAST, at("2026-05-02 04:00"), {})
    assert (decision.reason, decision.reasons) == ("daily", ("daily",))


def test_all_waits_for_idleness_after_the_hour() -> None:
    late = at("2026-05-02 03:50")
    assert decide(policy("all"), late, at("2026-05-02 04:30"), {}).reasons == ("daily",)
    assert not decide(policy("all"), late, at("2026-05-02 04:50"), {}).reset
    assert decide(policy("all"), late, at("2026-05-02 04:50") + TICK, {}).reason == "all"


def test_a_live_lease_blocks_and_is_named_and_an_expired_one_is_not() -> None:
    now = at("2026-05-02 05:00")
    leases = {"b": now + timedelta(hours=1), "a": now + timedelta(hours=2), "gone": now}
    blocked = decide(policy("idle"), LAST, now, leases)
    assert not blocked.reset
    assert blocked.reason is None
    assert blocked.reasons == ("idle",)
    assert blocked.blocked_by == ("a", "b")
    assert blocked.next_at == at("2026-05-02 07:00")
    assert decide(policy("idle"), LAST, now, {"gone": now}).reset


def test_an_activity_in_the_future_is_as_good_as_now() -> None:
    ahead = decide(policy("both"), LAST + timedelta(days=400), LAST, {})
    assert not ahead.reset
    assert ahead == decide(policy("both"), LAST, LAST, {})
    assert ahead.next_at == at("2026-05-01 13:00")


@pytest.mark.parametrize(
    ("zone", "hour", "day", "moment"),
    [
        ("UTC", 4, "2026-05-01", "2026-05-01 04:00"),
        ("Europe/Berlin", 4, "2026-01-10", "2026-01-10 03:00"),
        ("Europe/Berlin", 4, "2026-07-10", "2026-07-10 02:00"),
        # 02:00 to 03:00 is skipped on 29 March: 02:00 counts at 03:00 summer time.
        ("Europe/Berlin", 1, "2026-03-29", "2026-03-29 00:00"),
        ("Europe/Berlin", 2, "2026-03-29", "2026-03-29 01:00"),
        ("Europe/Berlin", 3, "2026-03-29", "2026-03-29 01:00"),
        ("Europe/Berlin", 4, "2026-03-29", "2026-03-29 02:00"),
        # 02:00 to 03:00 comes twice on 25 October: the first counts.
        ("Europe/Berlin", 2, "2026-10-25", "2026-10-25 00:00"),
        ("Europe/Berlin", 3, "2026-10-25", "2026-10-25 02:00"),
        ("America/New_York", 2, "2026-03-08", "2026-03-08 07:00"),
        ("America/New_York", 1, "2026-11-01", "2026-11-01 05:00"),
        ("America/New_York", 2, "2026-11-01", "2026-11-01 07:00"),
        # Half an hour: 02:00 becomes 02:30 in October, 02:00 becomes 01:30 in April.
        ("Australia/Lord_Howe", 2, "2026-10-04", "2026-10-03 15:30"),
        ("Australia/Lord_Howe", 3, "2026-10-04", "2026-10-03 16:00"),
        ("Australia/Lord_Howe", 1, "2026-04-05", "2026-04-04 14:00"),
        ("Australia/Lord_Howe", 2, "2026-04-05", "2026-04-04 15:30"),
        # Midnight itself is skipped in September; 23:00 comes twice in April.
        ("America/Santiago", 0, "2026-09-06", "2026-09-06 04:00"),
        ("America/Santiago", 1, "2026-09-06", "2026-09-06 04:00"),
        ("America/Santiago", 23, "2026-04-04", "2026-04-05 02:00"),
        ("America/Santiago", 0, "2026-04-05", "2026-04-05 04:00"),
        # 30 December 2011 never was: all of its hours count when the 31st begins.
        ("Pacific/Apia", 4, "2011-12-29", "2011-12-29 14:00"),
        ("Pacific/Apia", 0, "2011-12-30", "2011-12-30 10:00"),
        ("Pacific/Apia", 4, "2011-12-30", "2011-12-30 10:00"),
        ("Pacific/Apia", 23, "2011-12-30", "2011-12-30 10:00"),
        ("Pacific/Apia", 0, "2011-12-31", "2011-12-30 10:00"),
        ("Pacific/Apia", 4, "2011-12-31", "2011-12-30 14:00"),
    ],
)
def test_an_hour_comes_when_the_clock_first_shows_it_or_has_passed_it(
    zone: str, hour: int, day: str, moment: str
) -> None:
    assert hour_of(datetime.fromisoformat(day).date(), hour, ZoneInfo(zone)) == at(moment)


@pytest.mark.parametrize(
    ("zone", "last", "due"),
    [
        # A day of 23 hours, one of 25 hours, and an ordinary one, each from 04:00 to 04:00.
        ("Europe/Berlin", "2026-03-28 03:00", "2026-03-29 02:00"),
        ("Europe/Berlin", "2026-10-24 02:00", "2026-10-25 03:00"),
        ("Europe/Berlin", "2026-05-01 02:00", "2026-05-02 02:00"),
        ("America/New_York", "2026-03-07 09:00", "2026-03-08 08:00"),
        ("America/New_York", "2026-10-31 08:00", "2026-11-01 09:00"),
    ],
)
def test_days_of_23_and_25_hours(zone: str, last: str, due: str) -> None:
    daily = policy("daily", zone=zone)
    decision = decide(daily, at(last), at(last), {})
    assert decision.next_at == at(due)
    assert not decide(daily, at(last), at(due) - TICK, {}).reset
    assert decide(daily, at(last), at(due), {}).reset


def test_an_hour_that_comes_twice_counts_once() -> None:
    daily = policy("daily", at_hour=2, zone="Europe/Berlin")
    between = at("2026-10-25 00:30")
    assert decide(daily, between, at("2026-10-25 00:31"), {}).next_at == at("2026-10-26 01:00")
    assert not decide(daily, between, at("2026-10-25 01:30"), {}).reset


BY_PLACE = {
    ("telegram", "dm"): policy("none"),
    ("telegram", ""): policy("idle"),
    ("", "dm"): policy("daily"),
    ("", ""): policy("all"),
}


class TestTheMostSpecificWinsWhole:
    @pytest.mark.parametrize(
        ("without", "origin"),
        [
            ([], "platform and chat type"),
            ([("telegram", "dm")], "platform"),
            ([("telegram", "dm"), ("telegram", "")], "chat type"),
            ([("telegram", "dm"), ("telegram", ""), ("", "dm")], "agent"),
        ],
    )
    def test_in_this_order(self, without: list[tuple[str, str]], origin: str) -> None:
        left = {place: rule for place, rule in BY_PLACE.items() if place not in without}
        chosen = choose(left, "telegram", "dm", BERLIN)
        assert chosen is not None
        assert chosen.origin == origin
        assert chosen.policy == next(iter(left.values()))

    def test_others_do_not_apply(self) -> None:
        chosen = choose(BY_PLACE, "discord", "group", BERLIN)
        assert chosen is not None
        assert chosen.policy.mode == "all"

    def test_without_any_it_is_both_after_a_day_and_at_four_where_the_agent_lives(self) -> None:
        chosen = choose({}, "telegram", "dm", BERLIN)
        assert chosen is not None
        assert chosen.origin == "built-in"
        assert chosen.policy == built_in(BERLIN) == Policy("both", 1440, 4, BERLIN)

    def test_a_session_without_a_platform_has_only_what_was_set_for_the_agent(self) -> None:
        assert choose({}, "", "", BERLIN) is None
        assert choose({("telegram", ""): policy("idle")}, "", "", BERLIN) is None
        chosen = choose(BY_PLACE, "", "", BERLIN)
        assert chosen is not None
        assert chosen.policy.mode == "all"
