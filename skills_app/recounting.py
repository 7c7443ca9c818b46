"""The counts made anew from the invocations: compared with what is stored, or put in its place."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sessions_app.storage import storage
from skills_app.models import SkillAdoption, SkillInvocation, SkillReach, SkillRollup, SkillTally
from skills_app.rollup_rules import EVER, Cell, Fact, Key, folded
from skills_app.rollups import cell_of_row, count, facts_of
from skills_app.statements import writers_wait


def recount(agent_id: int) -> list[str]:
    """What the counts of an agent would be if they were made anew, compared with what they are."""
    with storage().one_moment():
        cells, adopted = _counted(agent_id)
        found = [*_differing_cells(agent_id, cells), *_differing_adoption(agent_id, adopted)]
    return sorted(found)


def _counted(agent_id: int) -> tuple[dict[Key, Cell], Counter[tuple[int, str]]]:
    adopted: Counter[tuple[int, str]] = Counter()

    def noted() -> Iterator[Fact]:
        for fact in facts_of(SkillInvocation.objects.filter(agent_id=agent_id).order_by("pk")):
            if fact.session_id is not None:
                adopted[fact.session_id, fact.skill_name] += 1
                adopted[fact.session_id, ""] += 1
            yield fact

    return folded(noted()), adopted


def rebuild(agent_id: int) -> None:
    """Runs inside `commit`: the counts made anew. Whoever would change what they count waits for it."""
    writers_wait("skills_app_skillinvocation")
    for table in (SkillRollup, SkillTally, SkillAdoption, SkillReach):
        table._default_manager.filter(agent_id=agent_id).delete()
    batch: list[Fact] = []
    for fact in facts_of(SkillInvocation.objects.filter(agent_id=agent_id).order_by("pk")):
        batch.append(fact)
        if len(batch) == 1000:
            count(batch)
            batch = []
    count(batch)


def stored_cells(agent_id: int) -> dict[Key, Cell]:
    cells: dict[Key, Cell] = {}
    for row in SkillRollup.objects.filter(agent_id=agent_id).iterator(2000):
        cells[Key(agent_id, row.day, row.skill_name, row.workflow_phase)] = cell_of_row(row)
    for tally in SkillTally.objects.filter(agent_id=agent_id).iterator(2000):
        key = Key(agent_id, tally.day, tally.skill_name, tally.workflow_phase)
        cells.setdefault(key, Cell()).labels[tally.kind, tally.label] = tally.count
    return cells


def _differing_cells(agent_id: int, right: dict[Key, Cell]) -> Iterator[str]:
    stored = stored_cells(agent_id)
    for key in stored.keys() | right.keys():
        is_there, should_be = stored.get(key, Cell()), right.get(key, Cell())
        if is_there != should_be:
            day = "ever" if key.day == EVER else key.day.isoformat()
            yield (
                f"{key.skill_name!r} in phase {key.workflow_phase!r}, {day}: {_told(is_there)}, "
                f"should be {_told(should_be)}"
            )


def _told(cell: Cell) -> str:
    labels = sum(cell.labels.values())
    return (
        f"{cell.completed} completed, {cell.failed} failed, {cell.abandoned} abandoned, "
        f"{cell.duration_us} µs, {cell.ranked} ranked, {labels} labels, {cell.first_at} to {cell.last_at}"
    )


def _differing_adoption(agent_id: int, right: Counter[tuple[int, str]]) -> Iterator[str]:
    stored: Any = SkillAdoption.objects.filter(agent_id=agent_id)
    uses = {(row.session_id, row.skill_name): row.uses for row in stored.iterator(2000)}
    if uses != dict(right):
        yield f"sessions by skill: {len(uses)} rows, should be {len(right)}, or their uses differ"
    reach = Counter(skill for _, skill in right)
    known = dict(SkillReach.objects.filter(agent_id=agent_id).values_list("skill_name", "sessions"))
    if known != dict(reach):
        yield f"number of sessions by skill: {known}, should be {dict(reach)}"
