"""Sessions: found by key or id, always within one agent."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce

from sessions_app import paging
from sessions_app.access import Caller, Outdated
from sessions_app.commits import commit
from sessions_app.entries import METADATA_BYTES
from sessions_app.erasure import erase_sessions
from sessions_app.models import Session
from sessions_app.objects import (
    SESSION_COLUMNS,
    Row,
    counts,
    iso,
    session_object,
    session_objects,
    tokens,
    uid_text,
)
from sessions_app.problems import NotFound, invalid
from sessions_app.storage import Reading, Stored, storage

# So that a row stays small whatever is sent as the name of a model.
MOST_MODELS = 50
OTHER_MODELS = "(others)"
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")


def of(caller: Caller) -> QuerySet[Session]:
    """The only door to sessions: nothing of another agent is behind it."""
    return Session.objects.filter(agent_id=caller.agent_id)


def parse_uid(text: str) -> UUID:
    if not UID.match(text):
        raise NotFound("There is no such session.")
    return UUID(text)


def find(caller: Caller, uid: UUID, *, lock: bool = False, to_erase: bool = False) -> Session:
    """Locked otherwise than `to_erase`, others may point to it meanwhile: their rows need not wait."""
    sessions = of(caller).select_for_update(no_key=not to_erase) if lock or to_erase else of(caller)
    session = sessions.filter(uid=uid).first()
    if session is None:
        raise NotFound("There is no such session.")
    return session


def find_with_newest(caller: Caller, uid: UUID, read: Reading) -> tuple[Row, list[Stored]]:
    """The same by a statement of our own, for what is asked most often."""
    found = storage().session(caller.agent_id, uid, read, caller.proof)
    if found is None:
        raise Outdated if caller.proof else NotFound("There is no such session.")
    return found


def row_of(session: Session) -> Row:
    return {column: getattr(session, column) for column in SESSION_COLUMNS}


def shown(session: Session, caller: Caller) -> dict[str, Any]:
    return session_object(row_of(session), caller)


def change(caller: Caller, uid: UUID, changes: Mapping[str, Any], now: datetime) -> Session:
    def work() -> Session:
        session = find(caller, uid, lock=True)
        if "title" in changes:
            session.title = changes["title"] or ""
        if "metadata" in changes:
            session.metadata = merged(session.metadata, changes["metadata"] or {})
        session.updated_at = max(now, session.updated_at)
        session.save(update_fields=["title", "metadata", "updated_at"])
        return session

    return commit(work)


def merged(metadata: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Shallow; null removes."""
    result = {name: value for name, value in (metadata | changes).items() if value is not None}
    if len(orjson.dumps(result)) > METADATA_BYTES:
        raise invalid(["body", "metadata"], f"It may be at most {METADATA_BYTES} bytes of JSON.", "too_long")
    return result


def erase(caller: Caller, uid: UUID) -> None:
    """The record goes, and with it what was answered about it."""

    def work() -> None:
        session = find(caller, uid, to_erase=True)
        erase_sessions([session.pk])

    commit(work)


def add_usage(
    caller: Caller, uid: UUID, used: Mapping[str, float], model: str | None, now: datetime
) -> Session:
    """Runs inside `commit`. `used`: input_tokens, output_tokens and cost_usd of one call of a model."""
    session = find(caller, uid, lock=True)
    for name, amount in used.items():
        setattr(session, name, getattr(session, name) + amount)
    if model:
        session.usage_by_model = _with_usage(session.usage_by_model or {}, model, used)
    session.updated_at = max(now, session.updated_at)
    session.save(update_fields=[*used, "usage_by_model", "updated_at"])
    return session


def _with_usage(
    by_model: dict[str, dict[str, float]], model: str, used: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    known = model in by_model or len(by_model) < MOST_MODELS
    name = model if known else OTHER_MODELS
    before = by_model.get(name, {})
    return {
        **by_model,
        name: {"calls": before.get("calls", 0) + 1}
        | {what: before.get(what, 0) + amount for what, amount in used.items()},
    }


def summary(session: Session) -> dict[str, Any]:
    """Read off the session's row: its cost does not depend on how long the session is."""
    row = row_of(session)
    return {
        **counts(row),
        "tokens": tokens(row),
        "first_at": iso(session.first_at),
        "last_at": iso(session.last_at),
        "cost_usd": session.cost_usd,
        "by_model": session.usage_by_model or {},
    }


def listed(
    caller: Caller,
    *,
    key: str | None,
    platform: str | None,
    chat_type: str | None,
    is_open: bool | None,
    active_minutes: int | None,
    q: str | None,
    cursor: str | None,
    limit: int,
    now: datetime,
) -> paging.Page:
    """Last active first."""
    exact = {"key": key, "platform": platform, "chat_type": chat_type}
    found = of(caller).filter(**{name: value for name, value in exact.items() if value is not None})
    if is_open is not None:
        found = found.filter(ended_at__isnull=is_open)
    if active_minutes is not None:
        found = found.annotate(activity=Coalesce("active_at", "created_at")).filter(
            activity__gte=now - timedelta(minutes=active_minutes)
        )
    if q:
        found = found.filter(storage().containing(q, "key", "title"))
    if cursor is not None:
        updated_at, uid = paging.decode(cursor, paging.moment, paging.uid)
        found = found.filter(Q(updated_at__lt=updated_at) | Q(updated_at=updated_at, uid__lt=uid))
    rows = list(found.order_by("-updated_at", "-uid").values(*SESSION_COLUMNS)[: limit + 1])
    return paging.page(
        rows,
        limit,
        lambda rows: session_objects(rows, caller),
        lambda row: paging.encode(iso(row["updated_at"]) or "", uid_text(row["uid"]) or ""),
    )
