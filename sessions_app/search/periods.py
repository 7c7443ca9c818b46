"""`since` and `until` as people write them: a time, a day, or how long ago. Pure."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

AGO = re.compile(r"([0-9]{1,6})([mhdw])\Z")
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment_of(given: str, now: datetime, zone: ZoneInfo) -> datetime:
    """Raises ValueError where it is neither."""
    if ago := AGO.match(given.strip().lower()):
        try:
            return now - timedelta(**{UNITS[ago[2]]: int(ago[1])})
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)
    # A plus that nobody escaped arrives as a space.
    at = datetime.fromisoformat(
        re.sub(r" (\d\d:?\d\d)\Z", r"+\1", given.strip()) if "T" in given else given.strip()
    )
    try:
        return (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError(given) from error
