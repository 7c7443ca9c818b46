"""Where the agent is: what it needs to know of a session's chat, its platforms and the session before."""

from typing import Any
from uuid import UUID

from gateway_app import platforms
from gateway_app.context_prompt import Connection, Home, prompt, reset_notice
from gateway_app.models import Platform
from gateway_app.sources import Source
from sessions_app.access import Caller
from sessions_app.models import Message, Session
from sessions_app.objects import iso, uid_text
from sessions_app.sessions import find, of, shown


def read(caller: Caller, uid: UUID) -> dict[str, Any]:
    """A look at it is no activity, and tells nothing off: the notice stays until the agent has answered."""
    session = find(caller, uid)
    connections = platforms.connected(caller.agent_id)
    previous = _previous(caller, session)
    notice = _notice(session, previous)
    source = None if session.source is None else Source.from_json(session.source)
    homes = {found.platform: platforms.home_channel(found) for found in connections}
    return {
        "source": session.source,
        "connected_platforms": [found.platform for found in connections],
        "home_channels": {platform: home for platform, home in homes.items() if home is not None},
        "session": shown(session, caller),
        "previous": None if previous is None else _shown(previous),
        "notice": notice,
        "prompt": prompt(source, [_connection(found) for found in connections], notice),
    }


def _previous(caller: Caller, session: Session) -> Session | None:
    if session.previous_id is None:
        return None
    return of(caller).filter(uid=session.previous_id).first()


def _notice(session: Session, previous: Session | None) -> str | None:
    if not session.was_auto_reset or _answered(session):
        return None
    previous_id = None if previous is None else uid_text(previous.uid)
    return reset_notice(session.reset_reason, previous_id, handed_over(session, previous))


def handed_over(session: Session, previous: Session | None) -> str:
    """What the session was given when it began, or when the one before was condensed."""
    return session.carried or ("" if previous is None else previous.summary)


def _answered(session: Session) -> bool:
    """Also by what was hidden since: the agent has read the notice all the same."""
    return Message.objects.filter(session_id=session.pk, kind="message", role="assistant").exists()


def _connection(row: Platform) -> Connection:
    home = Home(row.home_chat_id, row.home_name, row.home_thread_id) if row.home_chat_id else None
    return Connection(row.platform, home)


def _shown(previous: Session) -> dict[str, Any]:
    return {
        "id": uid_text(previous.uid),
        "ended_at": iso(previous.ended_at),
        "end_reason": previous.end_reason or None,
        "summary": previous.summary or None,
    }
