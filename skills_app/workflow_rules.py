"""What the counts by phase say: what works where, where work gets stuck, what to use. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from skills_app.likelihood import wilson
from skills_app.rollup_rules import Cell

LEAST_FINISHED = 3
STUCK, WARNING, CRITICAL = 0.2, 0.3, 0.5
GOOD = 70.0
BUCKETS = ((90, "90-100%"), (70, "70-89%"), (50, "50-69%"), (30, "30-49%"), (0, "0-29%"))

Cells = Mapping[tuple[str, str], Cell]


def effectiveness(cells: Cells) -> list[dict[str, Any]]:
    """By phase, best first. What has no phase is in no workflow."""
    found = [
        {
            "workflow_phase": phase,
            "skill_name": skill,
            "completion_rate": cell.rate,
            "avg_duration_seconds": cell.average_seconds,
            "total_invocations": cell.finished,
            "ci_low": wilson(cell.completed, cell.finished)[0],
            "ci_high": wilson(cell.completed, cell.finished)[1],
        }
        for (skill, phase), cell in cells.items()
        if phase and cell.finished
    ]
    return sorted(
        found,
        key=lambda each: (
            each["workflow_phase"], -each["completion_rate"], -each["total_invocations"], each["skill_name"]
        ),
    )  # fmt: skip


def bottlenecks(cells: Cells) -> list[dict[str, Any]]:
    """Phases in which at least a fifth is not brought to its end, worst first."""
    phases: dict[str, Cell] = {}
    for (_, phase), cell in cells.items():
        if phase:
            phases.setdefault(phase, Cell()).add(cell)
    found = []
    for phase, cell in phases.items():
        lost = cell.failed + cell.abandoned
        if cell.finished >= LEAST_FINISHED and lost / cell.finished >= STUCK:
            rate = lost / cell.finished
            found.append(
                {
                    "workflow_phase": phase,
                    "abandonment_rate": rate,
                    "level": level(rate),
                    "total_invocations": cell.finished,
                    "failed_invocations": cell.failed,
                    "abandoned_invocations": cell.abandoned,
                }
            )
    return sorted(found, key=lambda each: (-each["abandonment_rate"], each["workflow_phase"]))


def level(rate: float) -> str:
    if rate > CRITICAL:
        return "CRITICAL"
    return "WARNING" if rate > WARNING else "MONITOR"


class Step(NamedTuple):
    """One use of a skill in a session's course."""

    session: int
    phase: str
    skill: str
    invoked_at: datetime


def transitions(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """Of steps that are ordered by session and time: each with the one right before it."""
    counts: Counter[tuple[str, str]] = Counter()
    seconds: dict[tuple[str, str], float] = {}
    skills: dict[tuple[str, str], Counter[str]] = {}
    last: Step | None = None
    for step in steps:
        if last is not None and last.session == step.session:
            pair = (last.phase, step.phase)
            counts[pair] += 1
            seconds[pair] = seconds.get(pair, 0.0) + (step.invoked_at - last.invoked_at).total_seconds()
            skills.setdefault(pair, Counter())[step.skill] += 1
        last = step
    return [
        {
            "from_phase": pair[0],
            "to_phase": pair[1],
            "count": count,
            "most_common_skill": min(skills[pair], key=lambda name: (-skills[pair][name], name)),
            "avg_seconds": seconds[pair] / count,
        }
        for pair, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def recommendations(effective: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The best of each phase, of those that come to their end more than 70 times in 100."""
    best: dict[str, dict[str, Any]] = {}
    for each in effective:
        # They come best first.
        if each["completion_rate"] > GOOD:
            best.setdefault(
                each["workflow_phase"],
                {name: each[name] for name in ("workflow_phase", "skill_name", "completion_rate")},
            )
    return [best[phase] for phase in sorted(best)]


def heatmap(cells: Cells) -> dict[str, Any]:
    """Rates in percent; null where a skill was never used in a phase, which is not the same as 0 %."""
    used = {(skill, phase): cell.rate for (skill, phase), cell in cells.items() if phase and cell.finished}
    phases = sorted({phase for _, phase in used})
    skills = sorted({skill for skill, _ in used})
    return {
        "phases": phases,
        "skills": skills,
        "cells": [[used.get((skill, phase)) for phase in phases] for skill in skills],
    }


def bucket(rate: float) -> int:
    """The lower end of the class that a rate is shown in."""
    return next(low for low, _ in BUCKETS if rate >= low)
