"""The counts in the database: moved in the transaction of what they count."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from operator import itemgetter
from typing import TypeVar

import orjson
from django.db.models import Max, Min, QuerySet

from skills_app.durations import add_to
from skills_app.models import QueryVector, SkillAdoption, SkillInvocation, SkillReach, SkillRollup, SkillTally
from skills_app.rollup_rules import (
    EVER,
    FACT_COLUMNS,
    SUMS,
    Cell,
    Fact,
    Key,
    fact_of,
    folded,
)
from skills_app.statements import repeated, rows

T = TypeVar("T")

TABLE = "skills_app_skillrollup"
KEY = ("agent_id", "day", "skill_name", "workflow_phase")
ROW = f"({', '.join(['%s'] * (len(KEY) + len(SUMS) + 2))}, '{{}}')"
# One statement makes the rows or moves them, in the order in which they are given.
MOVE = f"""INSERT INTO {TABLE} ({", ".join(KEY)}, {", ".join(SUMS)}, first_at, last_at, durations)
VALUES {{values}} ON CONFLICT ({", ".join(KEY)}) DO UPDATE SET
{", ".join(f"{name} = {TABLE}.{name} + excluded.{name}" for name in SUMS)},
first_at = CASE WHEN excluded.first_at < {TABLE}.first_at THEN excluded.first_at ELSE {TABLE}.first_at END,
last_at = CASE WHEN excluded.last_at > {TABLE}.last_at THEN excluded.last_at ELSE {TABLE}.last_at END
RETURNING {", ".join(KEY)}, id, completed + failed + abandoned, durations"""  # noqa: S608 - column names of our own
TIMES = f"""UPDATE {TABLE} SET durations = v.column2 FROM (VALUES {{values}}) AS v
WHERE {TABLE}.id = v.column1 RETURNING {TABLE}.id"""  # noqa: S608 - names of our own
SPAN = f"UPDATE {TABLE} SET first_at = %s, last_at = %s WHERE id = %s RETURNING id"  # noqa: S608 - names of our own
TALLY = """INSERT INTO skills_app_skilltally (agent_id, day, skill_name, workflow_phase, kind, label, count)
VALUES {values}
ON CONFLICT (agent_id, day, kind, skill_name, workflow_phase, label)
DO UPDATE SET count = skills_app_skilltally.count + excluded.count RETURNING id"""
LABEL = "(%s, %s, %s, %s, %s, %s, %s)"
AT_ONCE = 50
ADOPT = """INSERT INTO skills_app_skilladoption (agent_id, skill_name, session_id, uses)
VALUES (%s, %s, %s, %s) ON CONFLICT (session_id, skill_name)
DO UPDATE SET uses = skills_app_skilladoption.uses + excluded.uses RETURNING uses"""
REACH = """INSERT INTO skills_app_skillreach (agent_id, skill_name, sessions) VALUES (%s, %s, %s)
ON CONFLICT (agent_id, skill_name)
DO UPDATE SET sessions = skills_app_skillreach.sessions + excluded.sessions RETURNING id"""


def count(facts: Sequence[Fact]) -> None:
    """Runs inside `commit`, with the change of the invocations themselves."""
    _adopt(facts)
    _move(facts)


def discount(facts: Sequence[Fact]) -> None:
    """The same backwards, after the invocations are gone."""
    for key, pk, finished in _move(facts, sign=-1):
        if finished:
            rows(SPAN, [*_span(key), pk])
        else:
            SkillRollup.objects.filter(pk=pk).delete()
        SkillTally.objects.filter(**key._asdict(), count=0).delete()


def _move(facts: Sequence[Fact], sign: int = 1) -> list[tuple[Key, int, int]]:
    """What has moved: its key, its row, how many finished uses that row counts by now."""
    # In one order, whoever moves them: two that meet wait for each other once and never in a circle.
    cells = sorted(folded(facts).items(), key=itemgetter(0))
    moved = [row for some in _in_parts(cells) for row in _move_some(dict(some), sign)]
    _tally(cells, sign)
    return moved


def _move_some(cells: dict[Key, Cell], sign: int) -> list[tuple[Key, int, int]]:
    found = rows(
        repeated(MOVE, ROW, len(cells)),
        [value for key, cell in cells.items() for value in (*key, *_sums(cell, sign), *cell.span)],
    )
    moved, timed = [], []
    for *columns, pk, finished, durations in found:
        key = _key(*columns)
        moved.append((key, pk, finished))
        if cells[key].durations:
            classes = orjson.loads(durations)
            add_to(classes, cells[key].durations, sign)
            timed += [pk, orjson.dumps(classes).decode()]
    if timed:
        rows(repeated(TIMES, "(%s, %s)", len(timed) // 2), timed)
    return moved


def _sums(cell: Cell, sign: int) -> list[int]:
    return [sign * getattr(cell, name) for name in SUMS]


def _key(agent_id: int, day: date | str, skill: str, phase: str) -> Key:
    return Key(agent_id, date.fromisoformat(day) if isinstance(day, str) else day, skill, phase)


def _tally(cells: Sequence[tuple[Key, Cell]], sign: int) -> None:
    """The rows of labels are guarded by those of their cells, which are locked by now."""
    moved = [
        (*key, kind, label, sign * times)
        for key, cell in cells
        for (kind, label), times in sorted(cell.labels.items())
    ]
    for some in _in_parts(moved):
        rows(repeated(TALLY, LABEL, len(some)), [value for row in some for value in row])


def _in_parts(moved: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(moved), AT_ONCE):
        yield moved[start : start + AT_ONCE]


def _span(key: Key) -> tuple[datetime | None, datetime | None]:
    """First and last use cannot be counted back: they are looked up, by index."""
    left = _finished().filter(
        agent_id=key.agent_id, skill_name=key.skill_name, workflow_phase=key.workflow_phase
    )
    if key.day != EVER:
        begin = datetime.combine(key.day, datetime.min.time(), UTC)
        left = left.filter(invoked_at__gte=begin, invoked_at__lt=begin + timedelta(days=1))
    span = left.aggregate(first=Min("invoked_at"), last=Max("invoked_at"))
    return span["first"], span["last"]


def _adopt(facts: Sequence[Fact]) -> None:
    """A session counts once for each skill, and once for having used any."""
    uses: Counter[tuple[int, int, str]] = Counter()
    for fact in facts:
        if fact.session_id is not None:
            uses[fact.agent_id, fact.session_id, fact.skill_name] += 1
            uses[fact.agent_id, fact.session_id, ""] += 1
    reached: Counter[tuple[int, str]] = Counter()
    for (agent, session, skill), times in sorted(uses.items()):
        if rows(ADOPT, [agent, skill, session, times])[0][0] == times:
            reached[agent, skill] += 1
    for (agent, skill), sessions in sorted(reached.items()):
        rows(REACH, [agent, skill, sessions])


def forget_sessions(pks: Sequence[int]) -> None:
    """Runs inside `commit`, on locked sessions that are about to go: their uses are no longer counted."""
    used = SkillInvocation.objects.filter(session_id__in=pks)
    # Locked: one that is being finished right now is counted first, and then taken out again.
    held = list(used.order_by("pk").select_for_update().values("pk", *FACT_COLUMNS))
    facts = [fact_of(row) for row in held if row["state"] != "running"]
    QueryVector.objects.filter(invocation__session_id__in=pks)._raw_delete("default")
    used._raw_delete("default")
    adopted = SkillAdoption.objects.filter(session_id__in=pks)
    reached = Counter(adopted.values_list("agent_id", "skill_name"))
    adopted._raw_delete("default")
    for (agent, skill), sessions in sorted(reached.items()):
        rows(REACH, [agent, skill, -sessions])
    SkillReach.objects.filter(agent_id__in={agent for agent, _ in reached}, sessions=0).delete()
    discount(facts)


def _finished() -> QuerySet[SkillInvocation]:
    return SkillInvocation.objects.exclude(state="running")


def facts_of(invocations: QuerySet[SkillInvocation]) -> Iterator[Fact]:
    for row in invocations.exclude(state="running").values(*FACT_COLUMNS).iterator(2000):
        yield fact_of(row)


def cell_of_row(row: SkillRollup) -> Cell:
    sums = {name: getattr(row, name) for name in SUMS}
    return Cell(**sums, durations=orjson.loads(row.durations), first_at=row.first_at, last_at=row.last_at)
