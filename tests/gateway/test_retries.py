from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_app.retries import Verdict, asked_wait, backoff, next_attempt, verdict

NOW = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([200, 201, 202, 204, 299], Verdict.DELIVERED),
        ([408, 425, 429, 500, 502, 503, 504, 599], Verdict.AGAIN),
        ([300, 301, 302, 307, 308, 400, 401, 403, 404, 409, 410, 413, 422, 451], Verdict.NEVER),
    ],
)
def test_the_status_decides(statuses: list[int], expected: Verdict) -> None:
    assert {verdict(status) for status in statuses} == {expected}


@pytest.mark.parametrize(
    ("attempts", "seconds"), [(1, 5), (2, 10), (3, 20), (8, 640), (10, 2560), (11, 3600), (10_000, 3600)]
)
def test_the_wait_is_half_to_all_of_a_step_that_doubles_up_to_an_hour(attempts: int, seconds: int) -> None:
    assert backoff(attempts, lambda: 1.0) == timedelta(seconds=seconds)
    assert backoff(attempts, lambda: 0.5) == timedelta(seconds=seconds * 0.75)
    assert backoff(attempts, lambda: 0.0) == timedelta(seconds=seconds / 2)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        (None, timedelta()),
        ("", timedelta()),
        ("0", timedelta()),
        ("120", timedelta(minutes=2)),
        (" 7 ", timedelta(seconds=7)),
        ("86401", DAY),
        ("9" * 5000, DAY),
        ("Fri, 01 May 2026 10:05:00 GMT", timedelta(minutes=5)),
        ("Fri, 01 May 2026 09:00:00 GMT", timedelta()),
        ("Sat, 01 May 2100 09:00:00 GMT", DAY),
        ("-5", timedelta()),
        ("1.5", timedelta()),
        ("soon", timedelta()),
        ("٣", timedelta()),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header: str | None, wait: timedelta) -> None:
    assert asked_wait(header, NOW) == wait


@given(st.integers(1, 1000), st.one_of(st.none(), st.text(max_size=40)), st.floats(0, 1))
def test_the_next_attempt_is_never_in_the_past_nor_later_than_a_day(
    attempts: int, header: str | None, share: float
) -> None:
    assert NOW <= next_attempt(attempts, header, NOW, lambda: share) <= NOW + DAY


def test_the_longer_of_both_waits_counts() -> None:
    assert next_attempt(1, "60", NOW, lambda: 1.0) == NOW + timedelta(seconds=60)
    assert next_attempt(8, "60", NOW, lambda: 1.0) == NOW + timedelta(seconds=640)
