"""What becomes of a delivery after an attempt. Pure: time and chance are handed in."""

import enum
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

FIRST = timedelta(seconds=5)
LONGEST = timedelta(hours=1)
LONGEST_ASKED = timedelta(hours=24)

# Beside these only 5xx can get better by itself.
_PASSING = frozenset({408, 425, 429})
_SECONDS = re.compile(r"[0-9]+\Z", re.ASCII)


class Verdict(enum.Enum):
    DELIVERED = "delivered"
    AGAIN = "again"
    NEVER = "never"


def verdict(status: int) -> Verdict:
    if 200 <= status < 300:
        return Verdict.DELIVERED
    return Verdict.AGAIN if status in _PASSING or status >= 500 else Verdict.NEVER


def backoff(attempts: int, chance: Callable[[], float]) -> timedelta:
    """Half of the step to all of it: what failed together does not come back together, and no chance uses up
    all of the attempts within seconds."""
    # Past the longest step the power only grows to numbers that no clock holds.
    step = min(LONGEST, FIRST * (1 << min(attempts - 1, 20)))
    return step * (1 + chance()) / 2


def asked_wait(retry_after: str | None, now: datetime) -> timedelta:
    """What a Retry-After header asks for, in seconds or as a date; nothing where it cannot be read."""
    text = (retry_after or "").strip()
    if _SECONDS.match(text):
        # More digits than that are no number of seconds that anybody waits.
        return min(timedelta(seconds=int(text)), LONGEST_ASKED) if len(text) <= 9 else LONGEST_ASKED
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return timedelta()
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(moment - now, timedelta()), LONGEST_ASKED)


def next_attempt(
    attempts: int, retry_after: str | None, now: datetime, chance: Callable[[], float]
) -> datetime:
    """Never before the receiver asked for."""
    return now + max(asked_wait(retry_after, now), backoff(attempts, chance))
