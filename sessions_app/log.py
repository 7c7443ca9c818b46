"""Reading the record: by seq within a session, newest first over all of them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, Q

from sessions_app import paging
from sessions_app.access import Caller
from sessions_app.consolidation import covering
from sessions_app.models import Message, Session
from sessions_app.objects import MESSAGE_COLUMNS, Row, message_id, message_object, uid_text
from sessions_app.problems import NotFound
from sessions_app.sessions import UID


def listed(
    session: Session,
    *,
    kind: str | None,
    role: str | None,
    after: int | None,
    before: int | None,
    cursor: str | None,
    include_hidden: bool,
    descending: bool,
    limit: int,
) -> paging.Page:
    found = Message.objects.filter(session_id=session.pk)
    exact = {"kind": kind, "role": role, "seq__gt": after, "seq__lt": before}
    found = found.filter(**{name: value for name, value in exact.items() if value is not None})
    if not include_hidden:
        found = found.filter(hidden_by="")
    if cursor is not None:
        (seq,) = paging.decode(cursor, paging.seq)
        found = found.filter(seq__lt=seq) if descending else found.filter(seq__gt=seq)
    rows = list(found.order_by("-seq" if descending else "seq").values(*MESSAGE_COLUMNS)[: limit + 1])
    session_id = uid_text(session.uid) or ""
    return paging.page(
        rows,
        limit,
        lambda rows: [message_object(row, session_id) for row in rows],
        lambda row: paging.encode(row["seq"]),
    )


def recent(caller: Caller, *, include_hidden: bool, cursor: str | None, limit: int) -> paging.Page:
    """Newest first over all sessions of the agent."""
    found = Message.objects.filter(agent_id=caller.agent_id)
    if not include_hidden:
        found = found.filter(hidden_by="")
    if cursor is not None:
        created_at, pk = place_of(caller, *paging.decode(cursor, paging.uid, paging.seq))
        found = found.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, pk__lt=pk))
    columns = (*MESSAGE_COLUMNS, "session__uid", "session__key")
    rows = list(found.order_by("-created_at", "-pk").values(*columns)[: limit + 1])
    return paging.page(
        rows,
        limit,
        lambda rows: [_with_session(row) for row in rows],
        lambda row: paging.encode(str(row["session__uid"]), row["seq"]),
    )


def one(caller: Caller, text: str) -> dict[str, Any]:
    uid, _, seq = text.partition(".")
    if not UID.match(uid) or not seq.isascii() or not seq.isdigit() or len(seq) > 18:
        raise NotFound("There is no such message.")
    columns = (*MESSAGE_COLUMNS, "session_id", "session__uid", "session__key")
    row = (
        Message.objects.filter(agent_id=caller.agent_id, session__uid=UUID(uid), seq=int(seq))
        .values(*columns)
        .first()
    )
    if row is None or message_id(uid, row["seq"]) != text:
        raise NotFound("There is no such message.")
    found = _with_session(row, preview=False)
    return found | {"consolidation_id": covering(row["session_id"], row["seq"])}


def _with_session(row: Row, preview: bool = True) -> dict[str, Any]:
    session_id = str(row["session__uid"])
    message = message_object(row, session_id, preview=preview)
    return message | {"session_id": session_id, "session_key": row["session__key"]}


def place_of(caller: Caller, uid: UUID, seq: int) -> tuple[datetime, int]:
    """A cursor names a message, whose inner number would tell how much others have stored."""
    row = (
        Message.objects.filter(agent_id=caller.agent_id, session__uid=uid, seq=seq)
        .annotate(number=F("pk"))
        .values_list("created_at", "number")
        .first()
    )
    if row is None:
        raise paging.refused()
    return row
