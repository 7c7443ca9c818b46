"""Server-sent events of one session: each message as it lands, resumable from any seq."""

import threading
import time
from collections.abc import Iterator

import orjson
from django.conf import settings

from sessions_app.live import LOOK_AGAIN_SECONDS, bell, release_connection
from sessions_app.models import Message, Session
from sessions_app.objects import MESSAGE_COLUMNS, iso, message_object, uid_text
from sessions_app.problems import Busy

BATCH = 200
QUIET_SECONDS = 15.0
RECONNECT_MILLISECONDS = 2000

_places = threading.BoundedSemaphore(settings.EVENT_STREAMS)


def stream(session: Session, after: int, *, include_hidden: bool = False) -> Iterator[bytes]:
    """Each stream holds a thread of its process: there are only so many, and the rest come back later."""
    if not _places.acquire(blocking=False):
        raise Busy("Too many event streams are open on this process.", headers={"Retry-After": "5"})
    return _Stream(_events(session, after, include_hidden))


class _Stream:
    """An iterator that gives its place back when it is closed, also when it was never read."""

    def __init__(self, events: Iterator[bytes]) -> None:
        self._events = events
        self._open = True

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._events)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._open:
            self._open = False
            self._events.close()  # type: ignore[attr-defined]
            _places.release()


def _events(session: Session, after: int, include_hidden: bool) -> Iterator[bytes]:
    session_id = uid_text(session.uid) or ""
    release_connection()
    yield f"retry: {RECONNECT_MILLISECONDS}\n\n".encode()
    last_written = time.monotonic()
    with bell.listening(session_id) as rung:
        while True:
            rung.clear()
            # Looked up before the messages, so that what came before the end is not missed.
            last_seq, ended = _state(session)
            messages = _next(session, session_id, after, include_hidden)
            release_connection()
            for seq, event in messages:
                yield event
                after, last_written = seq, time.monotonic()
            if len(messages) == BATCH:
                continue
            # Whatever of it was not sent is hidden: nobody looks at it a second time.
            after = max(after, last_seq)
            if ended is not None:
                yield _event("ended", ended)
                return
            rung.wait(LOOK_AGAIN_SECONDS)
            if time.monotonic() - last_written > QUIET_SECONDS:
                # Finds out whether anyone still listens.
                yield b": quiet\n\n"
                last_written = time.monotonic()


def _next(session: Session, session_id: str, after: int, include_hidden: bool) -> list[tuple[int, bytes]]:
    found = Message.objects.filter(session_id=session.pk, seq__gt=after)
    if not include_hidden:
        found = found.filter(hidden_by="")
    rows = found.order_by("seq").values(*MESSAGE_COLUMNS)[:BATCH]
    return [(row["seq"], _event("message", message_object(row, session_id), row["seq"])) for row in rows]


def _state(session: Session) -> tuple[int, dict[str, str | None] | None]:
    """The last seq, and the end of the session if it has ended."""
    columns = ("last_seq", "ended_at", "end_reason")
    row = Session.objects.filter(pk=session.pk).values_list(*columns).first()
    if row is None:
        return 0, {"ended_at": None, "end_reason": "erased"}
    last_seq, ended_at, reason = row
    return last_seq, None if ended_at is None else {"ended_at": iso(ended_at), "end_reason": reason}


def _event(name: str, data: object, seq: int | None = None) -> bytes:
    number = b"" if seq is None else b"id: %d\n" % seq
    return b"%sevent: %s\ndata: %s\n\n" % (number, name.encode(), orjson.dumps(data))
