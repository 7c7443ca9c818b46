"""From a source to its open session, and what ends one session of a key in favour of another."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from gateway_app import leases
from gateway_app.platforms import key_of
from gateway_app.reset_outlook import ResetOutlook, check_at
from gateway_app.sources import Source
from sessions_app.access import Caller
from sessions_app.consolidation import ON_RESET, unqueue
from sessions_app.entries import FUTURE
from sessions_app.episodes import ASKED, SWITCHED, Ending, begin, end, end_one, open_session
from sessions_app.models import Agent, Session
from sessions_app.problems import Conflict
from sessions_app.sessions import find, row_of, shown

REOPENED = ("ended_at", "end_reason", "end_decision", "active_at", "updated_at")


@dataclass(frozen=True, slots=True)
class Resolved:
    session: Session
    created: bool
    # Whether this answer is the one that tells of the reset which led here.
    tells: bool

    def shown(self, caller: Caller) -> dict[str, Any]:
        previous = self.session.previous_id
        return {
            "session": shown(self.session, caller),
            "created": self.created,
            "was_auto_reset": self.tells,
            "reset_reason": self.session.reset_reason if self.tells else None,
            "previous_id": None if previous is None else str(previous),
        }


def resolve(caller: Caller, source: Source, *, force_new: bool, touch: bool, now: datetime) -> Resolved:
    """Runs inside `commit`. The open session of the source, after whatever a policy or the caller ends."""
    key = key_of(caller, source)
    session, ended, created = open_session(caller, key), None, False
    if session is not None and (why := _ending(caller, session, force_new=force_new)):
        end_one(session, why, now)
        session, ended = None, session
    if session is None:
        session, created = begin(caller, _new(caller, key, source, touch=touch, now=now), ended)
    if not created:
        _refresh(caller, session, source, touch=touch, now=now)
    return Resolved(session, created, _tells(session))


def reset(caller: Caller, uid: UUID, now: datetime) -> Session:
    """Runs inside `commit`. Somebody asks for it: no policy and no lease has a say."""
    session = find(caller, uid, lock=True)
    if session.ended_at is not None:
        raise Conflict("The session has ended already.")
    end_one(session, ASKED, now)
    successor = Session(agent_id=caller.agent_id, key=session.key, created_at=now, updated_at=now)
    return begin(caller, successor, session)[0]


def reopen(caller: Caller, uid: UUID, now: datetime) -> Session:
    """Runs inside `commit`. Makes an ended session the open one of its key, as active as if just used."""
    # It takes hold of two sessions: two of these, each with the one that the other wants, would never end.
    Agent.objects.select_for_update(no_key=True).get(pk=caller.agent_id)
    session = find(caller, uid, lock=True)
    if session.ended_at is None:
        return session
    session.ended_at, session.end_reason, session.end_decision = None, "", None
    session.active_at = session.updated_at = now
    while not _takes_over(caller, session, now):
        pass
    unqueue(session.pk, ON_RESET)
    leases.note(caller.resets, session, now)
    return session


def _takes_over(caller: Caller, session: Session, now: datetime) -> bool:
    """False where another was opened between the end of the current one and this."""
    current = open_session(caller, session.key)
    if current is not None:
        end([current.pk], SWITCHED, now)
    try:
        with transaction.atomic():
            session.save(update_fields=REOPENED)
    except IntegrityError:
        return False
    return True


def _ending(caller: Caller, session: Session, *, force_new: bool) -> Ending | None:
    return ASKED if force_new else outlook(caller).ending(row_of(session))


def outlook(caller: Caller) -> ResetOutlook:
    found = caller.resets
    if not isinstance(found, ResetOutlook):
        raise TypeError("This caller did not come in through the gateway.")
    return found


def _new(caller: Caller, key: str, source: Source, *, touch: bool, now: datetime) -> Session:
    return Session(
        agent_id=caller.agent_id,
        key=key,
        **_place(source),
        created_at=now,
        updated_at=now,
        active_at=now if touch else None,
    )


def _refresh(caller: Caller, session: Session, source: Source, *, touch: bool, now: datetime) -> None:
    """Names change and people move on to another chat. A system's event, which often knows neither, tells
    only where there was nothing."""
    told: dict[str, Any] = {}
    if touch:
        told = {"active_at": _latest(session.active_at, now), "updated_at": max(now, session.updated_at)}
    if touch or session.source is None:
        told |= _place(source)
    changed = _set(session, told)
    # Another policy may apply from here on, or a clock that jumped be back in its place.
    changed += _set(session, {"reset_check_at": check_at(caller.resets, session)}) if changed else []
    if changed:
        session.save(update_fields=changed)


def _set(session: Session, values: dict[str, Any]) -> list[str]:
    """The names of those that were otherwise before."""
    changed = [name for name, value in values.items() if getattr(session, name) != value]
    for name in changed:
        setattr(session, name, values[name])
    return changed


def _place(source: Source) -> dict[str, Any]:
    return {"platform": source.platform, "chat_type": source.chat_type, "source": source.as_json()}


def _latest(active_at: datetime | None, now: datetime) -> datetime:
    """A time further ahead than any that is taken in comes from a clock that jumped: it is not kept."""
    return now if active_at is None or active_at > now + FUTURE else max(active_at, now)


def _tells(session: Session) -> bool:
    """True once for each automatic reset, at any number of processes: who turns the mark tells it."""
    if not session.was_auto_reset or session.reset_told:
        return False
    session.reset_told = True
    return Session.objects.filter(pk=session.pk, reset_told=False).update(reset_told=True) == 1
