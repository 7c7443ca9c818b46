"""Metrics of skills, read off the counts: their cost depends on how many skills there are, not on how often
they were used. One form for empty and non-empty."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import orjson

from sessions_app import paging
from sessions_app.access import Caller
from sessions_app.objects import iso
from sessions_app.problems import NotFound
from skills_app import durations, invocations
from skills_app.models import SkillReach
from skills_app.rollup_rules import ERROR, FOLLOW_UP, PATH, Cell, earliest, latest
from skills_app.selection import Selection, by_skill

NOTHING_RUNS: dict[str, Any] = {"count": 0, "first": None, "last": None}


def counted(selection: Selection) -> tuple[list[dict[str, Any]], Cell]:
    """Each skill, most used first, and all of them together."""
    cells, running = by_skill(selection.cells()), selection.running()
    reach, together = reached(selection.caller), Cell()
    for cell in cells.values():
        together.add(cell)
    found = [
        shown(name, cells.get(name, Cell()), running.get(name, NOTHING_RUNS), reach.get(name, 0))
        for name in cells.keys() | running.keys()
    ]
    return sorted(found, key=lambda each: (-each["total_invocations"], each["skill_name"])), together


def all_metrics(selection: Selection) -> list[dict[str, Any]]:
    return counted(selection)[0]


def page(selection: Selection, cursor: str | None, limit: int) -> paging.Page:
    found = all_metrics(selection)
    if cursor is not None:
        place = tuple(paging.decode(cursor, paging.seq, str))
        found = [
            each for each in found if (-each["total_invocations"], each["skill_name"]) > (-place[0], place[1])
        ]
    return paging.page(
        found[: limit + 1],
        limit,
        list,
        lambda each: paging.encode(each["total_invocations"], each["skill_name"]),
    )


def one(selection: Selection) -> dict[str, Any]:
    found = all_metrics(selection)
    if not found:
        raise NotFound("There is no such skill.")
    return found[0]


def reached(caller: Caller) -> dict[str, int]:
    return dict(SkillReach.objects.filter(agent_id=caller.agent_id).values_list("skill_name", "sessions"))


def shown(name: str, cell: Cell, running: dict[str, Any], sessions: int) -> dict[str, Any]:
    first = 100 * cell.first_completed / cell.ranked_first if cell.ranked_first else None
    return {
        "skill_name": name,
        "total_invocations": cell.finished + running["count"],
        "completed_invocations": cell.completed,
        "failed_invocations": cell.failed,
        "abandoned_invocations": cell.abandoned,
        "running_invocations": running["count"],
        "completion_rate": cell.rate,
        "total_duration_seconds": cell.duration_us / 1e6,
        "avg_duration_seconds": cell.average_seconds,
        "median_duration_seconds": durations.quantile(cell.durations, 0.5),
        "p95_duration_seconds": durations.quantile(cell.durations, 0.95),
        "workflow_paths": cell.labelled(PATH),
        "common_errors": cell.labelled(ERROR),
        "follow_up_actions": cell.labelled(FOLLOW_UP),
        "avg_selection_rank": cell.rank_sum / cell.ranked if cell.ranked else None,
        "recommendation_success_rate": first,
        "first_invoked": iso(earliest(cell.first_at, running["first"])),
        "last_invoked": iso(latest(cell.last_at, running["last"])),
        "sessions": sessions,
    }


def summary(selection: Selection) -> dict[str, Any]:
    return summary_of(*counted(selection))


def summary_of(metrics: list[dict[str, Any]], together: Cell) -> dict[str, Any]:
    running = sum(each["running_invocations"] for each in metrics)
    return {
        "total_skills": len(metrics),
        "total_invocations": together.finished + running,
        "completed_invocations": together.completed,
        "failed_invocations": together.failed,
        "abandoned_invocations": together.abandoned,
        "running_invocations": running,
        "overall_completion_rate": together.rate,
        "most_used_skill": metrics[0]["skill_name"] if metrics else None,
        "most_used_count": metrics[0]["total_invocations"] if metrics else 0,
        "avg_duration_seconds": together.average_seconds,
        "skills_by_usage": [[each["skill_name"], each["total_invocations"]] for each in metrics],
    }


def session_summary(selection: Selection, session_id: str) -> dict[str, Any]:
    cells, running = by_skill(selection.cells()), selection.running()
    under_way = sum(row["count"] for row in running.values())
    counts = {
        name: cells.get(name, Cell()).finished + running.get(name, NOTHING_RUNS)["count"]
        for name in cells.keys() | running.keys()
    }
    spent = selection.invocations().exclude(duration_us=None).values_list("duration_us", flat=True)
    return {
        "session_id": session_id,
        "total_skills_used": len(counts),
        "total_invocations": sum(counts.values()),
        "completed_invocations": sum(cell.completed for cell in cells.values()),
        "failed_invocations": sum(cell.failed for cell in cells.values()),
        "abandoned_invocations": sum(cell.abandoned for cell in cells.values()),
        "running_invocations": under_way,
        "total_duration_seconds": sum(each or 0 for each in spent) / 1e6,
        "skills_by_count": dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))),
    }


def export(caller: Caller, now: datetime) -> Iterator[bytes]:
    """One JSON object, written a piece at a time: it may be larger than the memory."""
    metrics, together = counted(Selection(caller))
    yield b'{"summary":' + orjson.dumps(summary_of(metrics, together))
    yield b',"skills":' + orjson.dumps({each["skill_name"]: each for each in metrics})
    yield b',"invocations":['
    for number, invocation in enumerate(invocations.everything(caller)):
        yield (b"," if number else b"") + orjson.dumps(invocation)
    yield b'],"exported_at":' + orjson.dumps(iso(now)) + b"}"
