"""What operators do to a session: the functions of the API, called with the operator's reasons and noted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.urls import reverse

from gateway_app import leases, resolving
from gateway_app.admin.acting import acting_for
from sessions_app import consolidation, reflections, sessions, trimming
from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.models import Session
from sessions_app.problems import invalid

CHANGE_SESSION, ERASE_SESSION = "sessions_app.change_session", "sessions_app.delete_session"
ASKED = "asked"


@dataclass(frozen=True, slots=True)
class Done:
    said: str
    # The session that is shown next; none where there is nothing left to show.
    leads_to: int | None
    # Another page than the session's.
    address: str = ""


Given = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Action:
    name: str
    title: str
    says: str
    run: Callable[[Caller, Session, Given, datetime], Done]
    right: str = CHANGE_SESSION
    # Whether a page asks first, and whether a word has to be typed there.
    asks: bool = False
    asks_twice: bool = False
    # For which sessions it is offered: open ones, ended ones or all.
    for_open: bool = True
    for_ended: bool = True

    def fits(self, session: Session) -> bool:
        return self.for_open if session.ended_at is None else self.for_ended


def _reset(caller: Caller, session: Session, given: Given, now: datetime) -> Done:
    new = commit(lambda: resolving.reset(caller, session.uid, now))
    return Done("Reset: it has ended, and a new session of its key is open.", new.pk)


def _reopen(caller: Caller, session: Session, given: Given, now: datetime) -> Done:
    commit(lambda: resolving.reopen(caller, session.uid, now))
    return Done("Reopened: it is the open session of its key.", session.pk)


def _condense(caller: Caller, session: Session, given: Given, now: datetime) -> Done:
    commit(lambda: consolidation.queue([session.pk], ASKED, now))
    return Done("Queued to be condensed.", session.pk)


def _retain(caller: Caller, session: Session, given: Given, now: datetime) -> Done:
    text = given.get("most", "")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise invalid(["body", "most"], "Give a number of messages.", "value_error")
    commit(lambda: trimming.retain(caller, session.uid, int(text), now))
    return Done(f"Trimmed: the window keeps at most {int(text)} messages.", session.pk)


def _end_lease(caller: Caller, session: Session, given: Given, now: datetime) -> Done:
    name = given.get("lease", "")
    leases.release(caller, session.uid, name, now)
    return Done(f"Ended the lease “{name}”.", session.pk)


def _reflect(caller: Caller, session: Session, given: Given, now: datetime) -> Done:
    found = reflections.write(session.agent, reflections.Scope(session=session), reflections.ASKED, now)
    found.save(force_insert=True)
    page = reverse("admin:sessions_app_reflection_change", args=[found.pk])
    return Done(f"Wrote a report over {found.entries} entries.", session.pk, page)


def _erase(caller: Caller, session: Session, given: Given, now: datetime) -> Done:
    sessions.erase(caller, session.uid)
    return Done(f"Erased the session of {session.last_seq} entries.", None)


ACTIONS = {
    action.name: action
    for action in (
        Action(
            "reset", "Reset",
            "It ends now, and a new session of its key is opened. The transcript stays; the new one starts "
            "with a summary of it. An ended session can be reopened.",
            _reset, asks=True, for_ended=False,
        ),
        Action(
            "reopen", "Reopen",
            "It becomes the open session of its key again. The one that is open now ends as switched.",
            _reopen, asks=True, for_open=False,
        ),
        Action(
            "condense", "Condense", "What the window does not need any more becomes a summary.", _condense
        ),
        Action("reflect", "Reflect", "A report over its newest entries is written.", _reflect),
        Action(
            "retain", "Trim the window",
            "The newest messages stay in the window that the model gets, the rest is hidden from it. "
            "The record stays whole.",
            _retain, asks=True, for_ended=False,
        ),
        Action("end-lease", "End the lease", "A policy may end the session again.", _end_lease),
        Action(
            "erase", "Erase", "Every entry goes, for good. There is no way back.", _erase, ERASE_SESSION,
            asks=True, asks_twice=True,
        ),
    )
}  # fmt: skip


def act(user: Any, session: Session, action: Action, given: Given, now: datetime) -> Done:
    """What is done and that it was done are stored together or not at all."""

    def work() -> Done:
        done = action.run(acting_for(session.agent, now), session, given, now)
        if user is not None:
            note(user, session, done.said, DELETION if done.leads_to is None else CHANGE)
        return done

    return commit(work)


def note(user: Any, session: Session, said: str, flag: int = CHANGE) -> None:
    LogEntry.objects.create(
        user_id=user.pk,
        content_type_id=_content_type(),
        object_id=str(session.pk),
        object_repr=str(session)[:200],
        action_flag=flag,
        change_message=said,
    )


def _content_type() -> int:
    from django.contrib.contenttypes.models import ContentType  # needs the apps to be loaded

    return ContentType.objects.get_for_model(Session).pk
