"""The record: entries go in at the end, in one order, all or nothing."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sessions_app.access import Caller, Outdated
from sessions_app.entries import BATCH, Entry, entry
from sessions_app.live import announcer
from sessions_app.models import Session
from sessions_app.objects import message_id, session_object, uid_text
from sessions_app.problems import Conflict, Invalid, NotFound, Problem, invalid
from sessions_app.redaction import for_storage
from sessions_app.storage import storage
from sessions_app.telemetry import count_appended


def entries_of(body: Any, caller: Caller, now: datetime) -> list[Entry]:
    """One message, or a batch: `{"messages": [...]}`."""
    if not isinstance(body, dict) or "messages" not in body:
        return [for_storage(caller.redaction, entry(body, now=now, zone=caller.zone))]
    messages = body["messages"]
    if not isinstance(messages, list):
        raise invalid(["body", "messages"], "It must be a list of messages.", "list_type")
    if not 1 <= len(messages) <= BATCH:
        raise invalid(
            ["body", "messages"], f"A batch has 1 to {BATCH} messages, not {len(messages)}.", "length"
        )
    if others := sorted(set(body) - {"messages"}):
        raise invalid(["body", others[0]], "A batch has nothing beside its messages.", "extra_forbidden")
    return _checked(messages, caller, now)


def append(caller: Caller, uid: UUID, entries: Sequence[Entry], now: datetime) -> dict[str, Any]:
    """Runs inside `commit`: it is the one statement (or short transaction) of an append."""
    row = storage().append(caller.agent_id, uid, entries, now, caller.proof)
    if row is None:
        raise Outdated if caller.proof else refusal(caller, uid)
    session_id = uid_text(row["uid"]) or ""
    last = row["last_seq"]
    return {
        "items": [
            {"id": message_id(session_id, seq), "seq": seq}
            for seq in range(last - len(entries) + 1, last + 1)
        ],
        "session": session_object(row, caller),
    }


def announce(session_id: str, entries: Sequence[Entry]) -> None:
    """After the commit: to those who follow the session live, and to the counters."""
    announcer.announce(session_id)
    for stored in entries:
        count_appended(stored.kind)


def refusal(caller: Caller, uid: UUID) -> Problem:
    """Why a write found no open session."""
    if Session.objects.filter(agent_id=caller.agent_id, uid=uid).exists():
        return Conflict("The session has ended. Resolve or create one for its key to go on.")
    return NotFound("There is no such session.")


def _checked(messages: list[Any], caller: Caller, now: datetime) -> list[Entry]:
    entries: list[Entry] = []
    errors = []
    for index, message in enumerate(messages):
        try:
            checked = entry(message, now=now, zone=caller.zone, loc=("body", "messages", index))
            entries.append(for_storage(caller.redaction, checked))
        except Invalid as refused:
            errors.extend(refused.errors)
    if errors:
        raise Invalid(errors)
    return entries
