from datetime import UTC, datetime, timedelta

import pytest

from sessions_app.triggers import due

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("tokens", "idle", "expected"),
    [
        (100, 0 * MINUTE, (None, NOON + 15 * MINUTE)),
        (101, 0 * MINUTE, ("budget", None)),
        (0, 14 * MINUTE, (None, NOON + MINUTE)),
        (0, 15 * MINUTE, ("idle", None)),
        (101, 15 * MINUTE, ("budget", None)),
        # A clock that jumped.
        (0, -60 * MINUTE, (None, NOON + 15 * MINUTE)),
    ],
)
def test_when_a_session_is_condensed(
    tokens: int, idle: timedelta, expected: tuple[str | None, datetime | None]
) -> None:
    assert due(tokens, 100, NOON - idle, 15, NOON) == expected
