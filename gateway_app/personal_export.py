"""Everything about one person, as one agent has it, to be handed over."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import orjson

from gateway_app.models import Delivery
from gateway_app.personal_data import CHUNK, Subject, deliveries_to, messages_by, sessions_about
from sessions_app.access import Caller
from sessions_app.models import Message, Session
from sessions_app.objects import iso, message_object, message_row
from sessions_app.sessions import shown
from sessions_app.transcripts import archive


def export(caller: Caller, subject: Subject, now: datetime) -> Iterator[bytes]:
    """JSON lines: who, then each session with what is theirs in it, then what was sent to them."""
    known = [f"{platform}:{user_id}" for platform, user_id in sorted(subject.known)]
    yield _line({"person": known, "agent": caller.agent, "exported_at": iso(now)})
    for session, alone in sessions_about(subject):
        uid = str(session.uid)
        if alone:
            yield _line({"session": shown(session, caller), "summary": session.summary or None})
            rows: Iterator[Message] = Message.objects.filter(session=session).order_by("seq").iterator(CHUNK)
        else:
            rows = messages_by(subject, session)
        for row in rows:
            yield _line({"session_id": uid, "message": message_object(message_row(row), uid)})
        if alone:
            yield from _made_of(session)
    for sent in deliveries_to(subject, []).order_by("pk").iterator(CHUNK):
        yield _line(
            {"delivery": {"target": sent.target, "content": sent.content, "at": iso(sent.created_at)}}
        )


def _made_of(session: Session) -> Iterator[bytes]:
    """What capabilities keep of it: summaries, reports, uses of skills, deliveries."""
    uid = str(session.uid)
    for name, part in archive.parts.items():
        for record in part.dump_session(session) if part.dump_session else ():
            yield _line({"session_id": uid, name: record})
    for sent in Delivery.objects.filter(session=session).order_by("pk").iterator(CHUNK):
        yield _line({"session_id": uid, "answer": {"target": sent.target, "content": sent.content}})


def _line(value: dict[str, Any]) -> bytes:
    return orjson.dumps(value) + b"\n"
