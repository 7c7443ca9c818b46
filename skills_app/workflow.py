"""The analysis of workflows: counts and the course of sessions, read for one question."""

from collections.abc import Iterator
from typing import Any

from sessions_app.objects import utc
from skills_app import workflow_rules as rules
from skills_app.selection import Selection

# Transitions are looked up among the newest uses; the answer says of how many.
LOOKED_AT = 20_000


def analysis(selection: Selection) -> dict[str, Any]:
    cells = selection.cells()
    effective = rules.effectiveness(cells)
    steps = list(_steps(selection))
    return {
        "effectiveness": effective,
        "bottlenecks": rules.bottlenecks(cells),
        "transitions": rules.transitions(steps),
        "transitions_looked_at": len(steps),
        "recommendations": rules.recommendations(effective),
        "heatmap": rules.heatmap(cells),
    }


def _steps(selection: Selection) -> Iterator[rules.Step]:
    used = selection.invocations().filter(session__isnull=False).exclude(workflow_phase="")
    columns = ("session_id", "workflow_phase", "skill_name", "invoked_at", "pk")
    newest = used.order_by("-invoked_at", "-pk").values_list(*columns)[:LOOKED_AT]
    for session, phase, skill, invoked_at, _ in sorted(newest, key=lambda row: (row[0], row[3], row[4])):
        yield rules.Step(session, phase, skill, utc(invoked_at))


def heatmap(selection: Selection) -> dict[str, Any]:
    return rules.heatmap(selection.cells())
