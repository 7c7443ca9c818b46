"""Erasing: through these functions alone, so that whatever was made of a message goes with it.

A capability that keeps something of sessions or messages registers how it is forgotten. Small tables with a
foreign key to the session go by its cascade; large ones (a row for each message) and whatever is no row of
its own (an index, a roll-up, a file) have to be registered."""

from collections.abc import Callable, Sequence
from datetime import datetime

import orjson
from django.db.models import Sum

from sessions_app.models import (
    Deletion,
    IdempotentAnswer,
    ImportedRecord,
    ImportedSession,
    Message,
    Session,
)

# Of sessions that are about to go: everything that points to them.
OfSessions = Callable[[Sequence[int]], object]
# Of sessions that stay, with these messages (by primary key) emptied: what was made of them.
OfMessages = Callable[[int, Sequence[int]], object]

ERASED = "erased"
_of_sessions: dict[str, OfSessions] = {}
_of_messages: dict[str, OfMessages] = {}


def register(name: str, *, sessions: OfSessions | None = None, messages: OfMessages | None = None) -> None:
    if sessions is not None:
        _of_sessions[name] = sessions
    if messages is not None:
        _of_messages[name] = messages


def erase_sessions(pks: Sequence[int]) -> tuple[int, int]:
    """Runs inside `commit`, on locked sessions. How many sessions and messages went."""
    for forget in _of_sessions.values():
        forget(pks)
    # Rows by the hundred thousand go in one statement each, none of them fetched first.
    messages = Message.objects.filter(session_id__in=pks)._raw_delete("default")
    IdempotentAnswer.objects.filter(session_id__in=pks)._raw_delete("default")
    ImportedRecord.objects.filter(session_id__in=pks)._raw_delete("default")
    sessions = Session.objects.filter(pk__in=pks).count()
    Session.objects.filter(pk__in=pks).delete()
    return sessions, messages


def empty_messages(session: Session, pks: Sequence[int]) -> int:
    """Runs inside `commit`, on a locked session. The entries keep their place and lose what they said."""
    for forget in _of_messages.values():
        forget(session.pk, pks)
    found = Message.objects.filter(session_id=session.pk, pk__in=pks).exclude(hidden_by=ERASED)
    emptied = 0
    for kind, role, body in _EMPTY:
        emptied += found.filter(kind=kind, role=role).update(
            body=body, extra=None, plain=False, tokens=0, hidden_by=ERASED
        )
    if emptied:
        # What was condensed or answered of them tells of them still.
        IdempotentAnswer.objects.filter(session_id=session.pk)._raw_delete("default")
        ImportedSession.objects.filter(session_id=session.pk).update(head="{}")
        session.summary, session.consolidated_through = "", 0
        left = Message.objects.filter(session_id=session.pk, kind="message", hidden_by="")
        session.unconsolidated_tokens = left.aggregate(total=Sum("tokens"))["total"] or 0
        session.save(update_fields=["summary", "consolidated_through", "unconsolidated_tokens"])
    return emptied


def _bodies() -> list[tuple[str, str, str]]:
    said = [
        (
            "message",
            role,
            {"role": role, "content": "[erased]"} | ({"tool_call_id": ERASED} if role == "tool" else {}),
        )
        for role in ("user", "assistant", "system", "tool")
    ]
    others = [
        ("tool_call", "", {"tool": "[erased]"}),
        ("error", "", {"error": "[erased]"}),
        ("decision", "", {"decision": "[erased]"}),
    ]
    return [(kind, role, orjson.dumps(body).decode()) for kind, role, body in (*said, *others)]


_EMPTY = _bodies()


def note(
    agent_id: int,
    reason: str,
    now: datetime,
    *,
    rule: str = "",
    sessions: int = 0,
    messages: int = 0,
    size: int = 0,
) -> None:
    """Runs inside `commit`. That it was done, and how much it was."""
    Deletion.objects.create(
        agent_id=agent_id,
        reason=reason,
        rule=rule[:255],
        sessions=sessions,
        messages=messages,
        bytes=size,
        created_at=now,
    )
