"""Clear, retain, rewind and fork: they change what the window shows and destroy nothing of the record."""

from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.db import connection
from django.db.models import Count, Max, Min, Q, Sum
from django.db.models.functions import Coalesce

from sessions_app.access import Caller
from sessions_app.consolidation import fall_back, tokens_left
from sessions_app.history import visible
from sessions_app.models import Consolidation, Kind, Message, Session, time_ordered_id
from sessions_app.problems import Conflict, invalid
from sessions_app.sessions import find, of
from sessions_app.window import Turn, keep

# Numbered anew: what was hidden leaves no gaps in the copy.
COPY = """
INSERT INTO sessions_app_message
  (agent_id, session_id, seq, kind, role, body, extra, plain, tokens, created_at, hidden_by)
SELECT agent_id, %s, ROW_NUMBER() OVER (ORDER BY seq), kind, role, body, extra, plain, tokens, created_at, ''
FROM sessions_app_message WHERE session_id = %s AND seq < %s AND hidden_by = '' ORDER BY seq
"""


def clear(caller: Caller, uid: UUID, now: datetime) -> Session:
    session = _open(caller, uid)
    # The summaries and what was handed over tell of what is to be forgotten.
    session.summary = session.carried = ""
    Consolidation.objects.filter(session_id=session.pk, discarded_at__isnull=True).update(
        discarded_at=now, discarded_by="clear"
    )
    return _hide(session, Q(), "clear", now)


def retain(caller: Caller, uid: UUID, most: int, now: datetime) -> Session:
    session = _open(caller, uid)
    if most == 0:
        return _hide(session, Q(), "retain", now)
    newest = list(visible(session).order_by("-seq").values_list("seq", "role", "extra")[: most + 1])
    if len(newest) <= most:
        return session
    turns = [Turn(seq, role, 0, proactive=_unasked(extra)) for seq, role, extra in reversed(newest)]
    start = keep(turns, most)
    return _hide(session, Q() if start is None else Q(seq__lt=turns[start].seq), "retain", now)


def rewind(caller: Caller, uid: UUID, to_seq: int, now: datetime) -> Session:
    session = _open(caller, uid)
    if not visible(session).filter(seq=to_seq, role="user").exists():
        raise invalid(["body", "to_seq"], "It is not the seq of a user message in the window.", "value_error")
    if to_seq <= session.consolidated_through:
        # The summary tells of what is taken back; an earlier one does not, and the rest speaks for itself.
        fall_back(session, to_seq, "rewind", now)
    return _hide(session, Q(seq__gte=to_seq), "rewind", now)


def fork(caller: Caller, uid: UUID, before_seq: int | None, key: str | None, now: datetime) -> Session:
    """A new session with what is visible before a seq, under a key that has no open session."""
    origin = find(caller, uid, lock=True)
    uid = time_ordered_id()
    key = key or f"{origin.key[:400]}:fork={uid}"
    before = origin.last_seq + 1 if before_seq is None else before_seq
    copy = Session(
        uid=uid,
        agent_id=caller.agent_id,
        key=key,
        title=origin.title,
        platform=origin.platform,
        chat_type=origin.chat_type,
        source=origin.source,
        metadata=origin.metadata,
        forked_from_id=origin.uid,
        carried=origin.carried,
        consolidate_check_at=now,
        created_at=now,
        updated_at=now,
        **_counted(origin, before),
    )
    Session.objects.bulk_create([copy], ignore_conflicts=True)
    found = of(caller).filter(uid=uid).first()
    if found is None:
        raise Conflict("The key has an open session already.")
    with connection.cursor() as cursor:
        cursor.execute(COPY, (found.pk, origin.pk, before))
    return found


def _open(caller: Caller, uid: UUID) -> Session:
    session = find(caller, uid, lock=True)
    if session.ended_at is not None:
        raise Conflict("The session has ended: its window is not used any more.")
    return session


def _unasked(extra: str | None) -> bool:
    return extra is not None and orjson.loads(extra).get("proactive", False)


def _hide(session: Session, which: Q, by: str, now: datetime) -> Session:
    Message.objects.filter(which, session_id=session.pk, hidden_by="").update(hidden_by=by)
    session.updated_at = max(now, session.updated_at)
    session.unconsolidated_tokens = tokens_left(session)
    session.save(
        update_fields=["summary", "carried", "consolidated_through", "unconsolidated_tokens", "updated_at"]
    )
    return session


def _counted(origin: Session, before: int) -> dict[str, Any]:
    """The counters and times that the copied messages give their new session."""
    copied = Message.objects.filter(session_id=origin.pk, seq__lt=before, hidden_by="")
    counts = {f"{kind}s_count": Count("id", filter=Q(kind=kind)) for kind in Kind.values}
    found = copied.aggregate(
        last_seq=Count("id"),
        first_at=Min("created_at"),
        last_at=Max("created_at"),
        active_at=Max("created_at", filter=Q(role="user")),
        unconsolidated_tokens=Coalesce(Sum("tokens"), 0),
        **counts,
    )
    return dict(found)
