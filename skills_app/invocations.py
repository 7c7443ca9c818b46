"""Single invocations: found, shown, listed, always within one agent."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.db.models import Q, QuerySet

from sessions_app import paging
from sessions_app.access import Caller
from sessions_app.objects import iso, uid_text
from sessions_app.problems import NotFound
from sessions_app.sessions import UID
from skills_app.models import SkillInvocation

COLUMNS = (
    "pk", "uid", "session__uid", "skill_name", "workflow_path", "workflow_phase", "user_query",
    "alternatives_considered", "follow_up_actions", "selection_rank", "state", "error_type", "invoked_at",
    "finished_at", "duration_us",
)  # fmt: skip

Row = Mapping[str, Any]


def of(caller: Caller) -> QuerySet[SkillInvocation]:
    return SkillInvocation.objects.filter(agent_id=caller.agent_id)


def parse_uid(text: str) -> UUID:
    if not UID.match(text):
        raise NotFound("There is no such invocation.")
    return UUID(text)


def one(caller: Caller, uid: UUID) -> dict[str, Any]:
    row = of(caller).filter(uid=uid).values(*COLUMNS).first()
    if row is None:
        raise NotFound("There is no such invocation.")
    return shown(row)


def shown(row: Row) -> dict[str, Any]:
    return {
        "id": uid_text(row["uid"]),
        "skill_name": row["skill_name"],
        "session_id": uid_text(row["session__uid"]),
        "state": row["state"],
        "completed": row["state"] == "completed",
        "invoked_at": iso(row["invoked_at"]),
        "finished_at": iso(row["finished_at"]),
        "duration_seconds": seconds(row["duration_us"]),
        "workflow_path": row["workflow_path"] or None,
        "workflow_phase": row["workflow_phase"] or None,
        "user_query": row["user_query"] or None,
        "alternatives_considered": orjson.Fragment(row["alternatives_considered"]),
        "selection_rank": row["selection_rank"],
        "follow_up_actions": orjson.Fragment(row["follow_up_actions"]),
        "error_type": row["error_type"] or None,
    }


def seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6


def listed(
    caller: Caller,
    *,
    skill_name: str | None,
    session_pk: int | None,
    state: str | None,
    workflow_phase: str | None,
    since: datetime | None,
    until: datetime | None,
    cursor: str | None,
    limit: int,
) -> paging.Page:
    """Newest use first."""
    exact = {
        "skill_name": skill_name,
        "session_id": session_pk,
        "state": state,
        "workflow_phase": workflow_phase,
        "invoked_at__gte": since,
        "invoked_at__lt": until,
    }
    found = of(caller).filter(**{name: value for name, value in exact.items() if value is not None})
    if cursor is not None:
        invoked_at, uid = paging.decode(cursor, paging.moment, paging.uid)
        found = found.filter(Q(invoked_at__lt=invoked_at) | Q(invoked_at=invoked_at, uid__lt=uid))
    return _page(found.order_by("-invoked_at", "-uid"), limit)


def of_session(caller: Caller, session_pk: int, cursor: str | None, limit: int) -> paging.Page:
    """In the order of their use."""
    found = of(caller).filter(session_id=session_pk)
    if cursor is not None:
        invoked_at, uid = paging.decode(cursor, paging.moment, paging.uid)
        found = found.filter(Q(invoked_at__gt=invoked_at) | Q(invoked_at=invoked_at, uid__gt=uid))
    return _page(found.order_by("invoked_at", "uid"), limit)


def _page(found: QuerySet[SkillInvocation], limit: int) -> paging.Page:
    return paging.page(
        list(found.values(*COLUMNS)[: limit + 1]),
        limit,
        lambda rows: [shown(row) for row in rows],
        lambda row: paging.encode(iso(row["invoked_at"]) or "", uid_text(row["uid"]) or ""),
    )


def everything(caller: Caller, batch: int = 1000) -> Iterator[dict[str, Any]]:
    """All of them in the order in which they came, read a batch at a time."""
    after = 0
    while rows := list(of(caller).filter(pk__gt=after).order_by("pk").values(*COLUMNS)[:batch]):
        yield from map(shown, rows)
        after = rows[-1]["pk"]
