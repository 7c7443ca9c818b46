"""The counts that a question is about: of all days, of some days, or of one session."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Min, QuerySet

from sessions_app.access import Caller
from skills_app.durations import add_to
from skills_app.models import SkillInvocation, SkillRollup, SkillTally
from skills_app.rollup_rules import EVER, Cell, by_skill_and_phase
from skills_app.rollups import cell_of_row, facts_of

Cells = dict[tuple[str, str], Cell]


@dataclass(frozen=True)
class Selection:
    """Days are those of UTC, both included. One session is counted from its invocations."""

    caller: Caller
    session_pk: int | None = None
    since: date | None = None
    until: date | None = None
    skill_name: str | None = None

    @property
    def is_ever(self) -> bool:
        return self.since is None and self.until is None

    def cells(self) -> Cells:
        """By skill and phase."""
        if self.session_pk is not None:
            return by_skill_and_phase(facts_of(self.invocations()))
        cells: Cells = {}
        for row in self._of_days(SkillRollup.objects.all()):
            cells.setdefault((row.skill_name, row.workflow_phase), Cell()).add(cell_of_row(row))
        for tally in self._of_days(SkillTally.objects.all()):
            labels = cells.setdefault((tally.skill_name, tally.workflow_phase), Cell()).labels
            add_to(labels, {(tally.kind, tally.label): tally.count})
        return cells

    def by_day(self) -> dict[str, dict[date, Cell]]:
        """By skill, then day; the phases of a day together."""
        found: dict[str, dict[date, Cell]] = {}
        for row in self._of_days(SkillRollup.objects.all()):
            found.setdefault(row.skill_name, {}).setdefault(row.day, Cell()).add(cell_of_row(row))
        return found

    def invocations(self) -> QuerySet[SkillInvocation]:
        found = SkillInvocation.objects.filter(agent_id=self.caller.agent_id)
        exact: dict[str, Any] = {
            "session_id": self.session_pk,
            "skill_name": self.skill_name,
            "invoked_at__gte": None if self.since is None else midnight(self.since),
            "invoked_at__lt": None if self.until is None else next_midnight(self.until),
        }
        return found.filter(**{name: value for name, value in exact.items() if value is not None})

    def running(self) -> dict[str, dict[str, Any]]:
        """Those under way by skill: how many, the first and the last. An index holds them alone."""
        found = self.invocations().filter(state="running").order_by().values("skill_name")
        counted = found.annotate(count=Count("pk"), first=Min("invoked_at"), last=Max("invoked_at"))
        return {row["skill_name"]: dict(row) for row in counted}

    def _of_days(self, table: Any) -> Iterable[Any]:
        found: QuerySet[Any] = table.filter(agent_id=self.caller.agent_id)
        if self.skill_name is not None:
            found = found.filter(skill_name=self.skill_name)
        if self.is_ever:
            return found.filter(day=EVER)
        # The day of all days lies before any.
        found = found.filter(day__gte=self.since) if self.since else found.filter(day__gt=EVER)
        return found.filter(day__lte=self.until) if self.until else found


def by_skill(cells: Cells) -> dict[str, Cell]:
    found: dict[str, Cell] = {}
    for (skill, _), cell in cells.items():
        found.setdefault(skill, Cell()).add(cell)
    return found


def midnight(day: date) -> datetime:
    return datetime.combine(day, datetime.min.time(), UTC)


def next_midnight(day: date) -> datetime:
    """Of the last day that there is, its own: nothing lies behind it."""
    return midnight(day if day == date.max else day + timedelta(days=1))
