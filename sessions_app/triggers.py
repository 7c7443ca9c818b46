"""When is a session condensed? Plain values in, a decision out."""

from datetime import datetime, timedelta
from typing import NamedTuple

BUDGET, IDLE, RESET, ASKED = "budget", "idle", "reset", "asked"
TRIGGERS = (BUDGET, IDLE, RESET, ASKED)


class Due(NamedTuple):
    """Why it is due now; else when to look again."""

    trigger: str | None
    look_at: datetime | None


def due(tokens: int, budget: int, last_activity: datetime, idle_minutes: int, now: datetime) -> Due:
    """The budget is named first: it is the one that cannot wait."""
    if tokens > budget:
        return Due(BUDGET, None)
    # A clock that jumped: what lies in the future is as good as just now.
    idle_at = min(last_activity, now) + timedelta(minutes=idle_minutes)
    return Due(IDLE, None) if now >= idle_at else Due(None, idle_at)
