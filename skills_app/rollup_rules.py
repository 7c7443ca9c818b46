"""What a finished invocation adds to the counts. Pure: one fold for a move, a session, a recount."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import orjson

from skills_app.durations import Histogram, add_to, class_of

# The day under which all days are counted: metrics since ever read one row for each skill and phase.
EVER = date(1, 1, 1)
PATH, ERROR, FOLLOW_UP, ALTERNATIVE = "path", "error", "follow_up", "alternative"
SUMS = (
    "completed", "failed", "abandoned", "timed", "duration_us", "ranked", "rank_sum", "ranked_first",
    "first_completed",
)  # fmt: skip


# By kind and label, how often.
Labels = dict[tuple[str, str], int]


class Key(NamedTuple):
    agent_id: int
    day: date
    skill_name: str
    workflow_phase: str


class Fact(NamedTuple):
    """A finished invocation, as far as it is counted."""

    agent_id: int
    session_id: int | None
    skill_name: str
    workflow_phase: str
    workflow_path: str
    state: str
    error_type: str
    duration_us: int | None
    selection_rank: int | None
    invoked_at: datetime
    follow_up_actions: Sequence[str]
    alternatives: Sequence[str]

    @property
    def day(self) -> date:
        return self.invoked_at.astimezone(UTC).date()


@dataclass
class Cell:
    """The counts of one key. Cells add up; with a negative sign they take away."""

    completed: int = 0
    failed: int = 0
    abandoned: int = 0
    timed: int = 0
    duration_us: int = 0
    ranked: int = 0
    rank_sum: int = 0
    ranked_first: int = 0
    first_completed: int = 0
    durations: Histogram = field(default_factory=dict)
    first_at: datetime | None = None
    last_at: datetime | None = None
    labels: Labels = field(default_factory=dict)

    @property
    def finished(self) -> int:
        return self.completed + self.failed + self.abandoned

    @property
    def rate(self) -> float:
        """In percent of all finished; 0 where none is."""
        return 100 * self.completed / self.finished if self.finished else 0.0

    @property
    def average_seconds(self) -> float:
        return self.duration_us / self.timed / 1e6 if self.timed else 0.0

    @property
    def span(self) -> tuple[datetime | None, datetime | None]:
        return self.first_at, self.last_at

    def add(self, other: "Cell", sign: int = 1) -> None:
        for name in SUMS:
            setattr(self, name, getattr(self, name) + sign * getattr(other, name))
        add_to(self.durations, other.durations, sign)
        add_to(self.labels, other.labels, sign)
        if sign > 0:
            self.first_at = earliest(self.first_at, other.first_at)
            self.last_at = latest(self.last_at, other.last_at)

    def labelled(self, kind: str) -> dict[str, int]:
        """Most frequent first, at most 100 of them."""
        found = [(label, count) for (of, label), count in self.labels.items() if of == kind]
        return dict(sorted(found, key=lambda pair: (-pair[1], pair[0]))[:100])


def earliest(*times: datetime | None) -> datetime | None:
    return min((time for time in times if time is not None), default=None)


def latest(*times: datetime | None) -> datetime | None:
    return max((time for time in times if time is not None), default=None)


def cell_of(fact: Fact) -> Cell:
    cell = Cell(first_at=fact.invoked_at, last_at=fact.invoked_at, labels=_labels(fact))
    setattr(cell, fact.state, 1)
    completed = fact.state == "completed"
    if completed and fact.duration_us is not None:
        cell.timed, cell.duration_us = 1, fact.duration_us
        cell.durations = {class_of(fact.duration_us): 1}
    if fact.selection_rank is not None:
        cell.ranked, cell.rank_sum = 1, fact.selection_rank
        cell.ranked_first = int(fact.selection_rank == 1)
        cell.first_completed = int(fact.selection_rank == 1 and completed)
    return cell


def _labels(fact: Fact) -> Labels:
    """Each as often as it was told."""
    told = [*((FOLLOW_UP, action) for action in fact.follow_up_actions)]
    told += [(ALTERNATIVE, name) for name in fact.alternatives]
    told += [(PATH, fact.workflow_path)] if fact.workflow_path else []
    told += [(ERROR, fact.error_type)] if fact.error_type else []
    return {label: told.count(label) for label in told}


def folded(facts: Iterable[Fact]) -> dict[Key, Cell]:
    """By day, and all days together."""
    days: dict[Key, Cell] = {}
    for fact in facts:
        key = Key(fact.agent_id, fact.day, fact.skill_name, fact.workflow_phase)
        days.setdefault(key, Cell()).add(cell_of(fact))
    cells = dict(days)
    for key, cell in days.items():
        cells.setdefault(key._replace(day=EVER), Cell()).add(cell)
    return cells


def by_skill_and_phase(facts: Iterable[Fact]) -> dict[tuple[str, str], Cell]:
    found: dict[tuple[str, str], Cell] = {}
    for fact in facts:
        found.setdefault((fact.skill_name, fact.workflow_phase), Cell()).add(cell_of(fact))
    return found


def fact_of(row: Mapping[str, Any]) -> Fact:
    return Fact._make(
        (
            *(row[name] for name in Fact._fields[:10]),
            orjson.loads(row["follow_up_actions"]),
            orjson.loads(row["alternatives_considered"]),
        )
    )


FACT_COLUMNS = (*Fact._fields[:10], "follow_up_actions", "alternatives_considered")
