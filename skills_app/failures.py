"""Skills that failed in a period: for the reports on what was recorded."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Q, QuerySet

from skills_app.models import SkillInvocation, State

MOST = 5


def failing(agent_id: int, since: datetime | None, until: datetime | None) -> Sequence[Mapping[str, Any]]:
    """Those that failed most often first. A period is counted from its invocations, which an index finds."""
    found = SkillInvocation.objects.filter(agent_id=agent_id).exclude(state=State.RUNNING).order_by()
    if since is not None:
        found = found.filter(invoked_at__gte=since)
    if until is not None:
        found = found.filter(invoked_at__lt=until)
    counted = found.values(skill=F("skill_name")).annotate(
        failures=Count("pk", filter=Q(state=State.FAILED)), uses=Count("pk")
    )
    worst = counted.filter(failures__gt=0).order_by("-failures", "skill")[:MOST]
    return [{**skill, "session_ids": _sessions(found, skill["skill"])} for skill in worst]


def _sessions(found: QuerySet[SkillInvocation], name: str) -> list[str]:
    """Where it failed, newest first: a use of a skill is no message, but it belongs to a session."""
    failed = found.filter(skill_name=name, state=State.FAILED, session__isnull=False)
    newest = failed.order_by("-invoked_at", "-pk").values_list("session__uid", flat=True)[: MOST * 4]
    return list(dict.fromkeys(map(str, newest)))[:MOST]
