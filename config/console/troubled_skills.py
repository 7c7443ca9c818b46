"""For the first page: which skills fail most, and which take longest."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Sum
from django.urls import reverse
from django.utils.http import urlencode

from skills_app.models import SkillRollup

SHOWN = 4
# A skill that was used once and failed is no news.
LEAST_USES = 3
SECOND = 1_000_000
ALARMING = 0.3

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    agent: str
    said: str
    link: str
    # Of twenty, for the bar beside it.
    share: int
    alarming: bool = False


def troubled(since: datetime) -> dict[str, list[Line]]:
    rows: Any = (
        SkillRollup.objects.filter(day__gte=since.date())
        .values("agent_id", "skill_name", agent_name=F("agent__name"))
        .annotate(
            done=Sum("completed"), bad=Sum(F("failed") + F("abandoned")), timed_=Sum("timed"),
            spent=Sum("duration_us"),
        )
    )  # fmt: skip
    used: list[Row] = [row for row in rows if _uses(row) >= LEAST_USES]
    failing = sorted((row for row in used if row["bad"]), key=_rate, reverse=True)
    slow = sorted((row for row in used if row["timed_"]), key=_seconds, reverse=True)
    longest = _seconds(slow[0]) if slow else 0
    return {
        "failing": [
            _line(row, f"{_rate(row):.0%} of {_uses(row)}", _rate(row), alarming=_rate(row) > ALARMING)
            for row in failing[:SHOWN]
        ],
        "slow": [
            _line(row, f"{_seconds(row):.1f} s", _seconds(row) / (longest or 1)) for row in slow[:SHOWN]
        ],
    }


def _uses(row: Row) -> int:
    return int(row["done"] + row["bad"])


def _rate(row: Row) -> float:
    return float(row["bad"] / _uses(row))


def _seconds(row: Row) -> float:
    return float(row["spent"] / row["timed_"] / SECOND)


def _line(row: Row, said: str, share: float, *, alarming: bool = False) -> Line:
    name = str(row["skill_name"])
    query = urlencode({"agent": str(row["agent_id"]), "skill": name})
    link = f"{reverse('admin:console_skills')}?{query}"
    return Line(name, str(row["agent_name"]), said, link, round(share * 20), alarming)
