"""Times as other programs write them."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Epoch numbers beyond this are milliseconds.
MILLISECONDS = 100_000_000_000


def moment(value: Any, zone: ZoneInfo) -> datetime | None:
    """ISO 8601 (without an offset: in the zone) or epoch seconds; None for what is no time since 1970."""
    try:
        found = _number(value) if isinstance(value, int | float) else _text(value, zone)
    except (ValueError, OverflowError, OSError, TypeError):
        return None
    return found if found is not None and found >= EPOCH else None


def _number(value: float) -> datetime | None:
    if isinstance(value, bool):
        return None
    return datetime.fromtimestamp(value / 1000 if value > MILLISECONDS else value, UTC)


def _text(value: Any, zone: ZoneInfo) -> datetime | None:
    if not isinstance(value, str):
        return None
    found = datetime.fromisoformat(value.strip())
    return (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC)


def naive(found: datetime, zone: ZoneInfo) -> str:
    """As most programs write their local time."""
    return found.astimezone(zone).replace(tzinfo=None).isoformat()
