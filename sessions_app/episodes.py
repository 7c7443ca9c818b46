"""One episode of a conversation ends, the next one begins: for whatever reason, in these two functions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import DateTimeField, F, Value
from django.db.models.functions import Greatest

from sessions_app.access import Caller
from sessions_app.consolidation import ON_RESET, courier, queue
from sessions_app.handover import handed_over
from sessions_app.models import Session
from sessions_app.sessions import of, row_of

# Why a policy ends a session. Whatever else is the reason, somebody asked for it.
BY_POLICY = frozenset({"idle", "daily", "all"})


class Ending(NamedTuple):
    """Why a session ends: in a word and, where a policy ends it, with all that this rested on, as JSON."""

    reason: str
    decision: str | None = None


ASKED, SWITCHED = Ending("reset"), Ending("switched")


def end(session_pks: Sequence[int], why: Ending, now: datetime) -> int:
    """Runs inside `commit`. Ends those that are still open, for the first reason stands; says how many."""
    # Requests wait for each other: one of an earlier time may end what a later one began.
    ended_at = Greatest(F("created_at"), Value(now, DateTimeField()))
    ended = Session.objects.filter(pk__in=session_pks, ended_at__isnull=True).update(
        ended_at=ended_at,
        end_reason=why.reason,
        end_decision=why.decision,
        reset_check_at=None,
        leased_until=None,
        consolidate_check_at=None,
    )
    if queue(session_pks, ON_RESET, now):
        transaction.on_commit(courier.call)
    return ended


def end_one(session: Session, why: Ending, now: datetime) -> None:
    """Runs inside `commit`, on a locked session, which then knows its reason."""
    end([session.pk], why, now)
    session.end_reason = why.reason


def begin(caller: Caller, new: Session, after: Session | None = None) -> tuple[Session, bool]:
    """Runs inside `commit`. The open session of the key, locked, and whether it is the new one.

    It follows the one that was just ended, which `after` names, else whichever ended last.
    The database lets one open session of a key exist; whoever loses reads the winner's.
    """
    while True:
        found = open_session(caller, new.key)
        if found is not None:
            return found, found.uid == new.uid
        _follow(new, after or _last(caller, new.key))
        new.reset_check_at = caller.resets.next_at(row_of(new))
        # One that stood in the way may be gone again when it is looked for.
        Session.objects.bulk_create([new], ignore_conflicts=True)


def open_for_key(
    caller: Caller, key: str, title: str, metadata: dict[str, Any], now: datetime
) -> tuple[Session, bool]:
    """Runs inside `commit`."""
    new = Session(
        agent_id=caller.agent_id, key=key, title=title, metadata=metadata, created_at=now, updated_at=now
    )
    return begin(caller, new)


def open_session(caller: Caller, key: str) -> Session | None:
    """Locked: who waited here for the end of it looks on for the next one."""
    return of(caller).select_for_update(no_key=True).filter(key=key, ended_at__isnull=True).first()


def _last(caller: Caller, key: str) -> Session | None:
    return of(caller).filter(key=key, ended_at__isnull=False).order_by("-ended_at", "-pk").first()


def _follow(new: Session, last: Session | None) -> None:
    """A policy may have ended the last one hours ago: that it did is told to whoever comes next."""
    if last is None:
        return
    new.previous_id = last.uid
    new.carried = handed_over(last.summary, last.carried)
    new.was_auto_reset = last.end_reason in BY_POLICY
    new.reset_reason = last.end_reason if new.was_auto_reset else ""
    if new.source is None:
        new.platform, new.chat_type, new.source = last.platform, last.chat_type, last.source
