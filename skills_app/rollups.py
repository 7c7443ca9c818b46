"""The counts in the database: moved in the transaction of what they count."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter

import orjson
from django.db.models import Max, Min, QuerySet

from sessions_app.objects import utc
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
from skills_app.statements import locking, rows

COLUMNS = ("id", *SUMS, "durations", "first_at", "last_at")
FIND = f"""SELECT {", ".join(COLUMNS)} FROM skills_app_skillrollup
WHERE agent_id = %s AND day = %s AND skill_name = %s AND workflow_phase = %s"""  # noqa: S608 - column names of our own
CREATE = f"""INSERT INTO skills_app_skillrollup
(agent_id, day, skill_name, workflow_phase, {", ".join(SUMS)}, durations, first_at, last_at)
VALUES (%s, %s, %s, %s, {", ".join("0" for _ in SUMS)}, '{{}}', %s, %s)
ON CONFLICT (agent_id, day, skill_name, workflow_phase) DO NOTHING RETURNING id"""  # noqa: S608 - column names of our own
UPDATE = f"""UPDATE skills_app_skillrollup SET {", ".join(f"{name} = %s" for name in SUMS)},
durations = %s, first_at = %s, last_at = %s WHERE id = %s RETURNING id"""  # noqa: S608 - column names of our own
TALLY = """INSERT INTO skills_app_skilltally (agent_id, day, skill_name, workflow_phase, kind, label, count)
VALUES {values}
ON CONFLICT (agent_id, day, kind, skill_name, workflow_phase, label)
DO UPDATE SET count = skills_app_skilltally.count + excluded.count RETURNING id"""
TALLIED_AT_ONCE = 100
ADOPT = """INSERT INTO skills_app_skilladoption (agent_id, skill_name, session_id, uses)
VALUES (%s, %s, %s, %s) ON CONFLICT (session_id, skill_name)
DO UPDATE SET uses = skills_app_skilladoption.uses + excluded.uses RETURNING uses"""
REACH = """INSERT INTO skills_app_skillreach (agent_id, skill_name, sessions) VALUES (%s, %s, %s)
ON CONFLICT (agent_id, skill_name)
DO UPDATE SET sessions = skills_app_skillreach.sessions + excluded.sessions RETURNING id"""


def count(facts: Sequence[Fact]) -> None:
    """Runs inside `commit`, with the change of the invocations themselves."""
    _adopt(facts)
    # In one order, whoever moves them: two that meet wait for each other once and never in a circle.
    cells = sorted(folded(facts).items(), key=itemgetter(0))
    for key, cell in cells:
        _move(key, cell)
    _tally(cells)


def discount(facts: Sequence[Fact]) -> None:
    """The same backwards, after the invocations are gone."""
    cells = sorted(folded(facts).items(), key=itemgetter(0))
    for key, cell in cells:
        _move(key, cell, sign=-1)
    _tally(cells, sign=-1)
    for key, _ in cells:
        SkillTally.objects.filter(**key._asdict(), count=0).delete()


def _tally(cells: Sequence[tuple[Key, Cell]], sign: int = 1) -> None:
    """The rows of labels are guarded by those of their cells, which are locked by now."""
    moved = [
        (*key, kind, label, sign * times)
        for key, cell in cells
        for (kind, label), times in sorted(cell.labels.items())
    ]
    for start in range(0, len(moved), TALLIED_AT_ONCE):
        some = moved[start : start + TALLIED_AT_ONCE]
        values = ", ".join(["(%s, %s, %s, %s, %s, %s, %s)"] * len(some))
        rows(TALLY.format(values=values), [value for row in some for value in row])


def _move(key: Key, moved: Cell, sign: int = 1) -> None:
    pk, cell = _locked(key, moved)
    cell.add(moved, sign)
    if not cell.finished:
        SkillRollup.objects.filter(pk=pk).delete()
    else:
        if sign < 0:
            cell.first_at, cell.last_at = _span(key)
        sums = [getattr(cell, name) for name in SUMS]
        rows(UPDATE, [*sums, orjson.dumps(cell.durations).decode(), cell.first_at, cell.last_at, pk])


def _locked(key: Key, moved: Cell) -> tuple[int, Cell]:
    find = FIND + locking()
    while not (found := rows(find, key)):
        rows(CREATE, [*key, moved.first_at, moved.last_at])
    row = dict(zip(COLUMNS, found[0], strict=True))
    cell = Cell(**{name: row[name] for name in SUMS}, durations=orjson.loads(row["durations"]))
    if cell.finished:
        cell.first_at, cell.last_at = utc(row["first_at"]), utc(row["last_at"])
    return row["id"], cell


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
