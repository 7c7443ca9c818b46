"""The way out: one session as a file, or many as an archive, a zip or a folder."""

import base64
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime

from sessions_app.access import Caller
from sessions_app.models import Session
from sessions_app.redaction import Redactor, redactor_for
from sessions_app.transcripts import archive_out
from sessions_app.transcripts.reading import transcript
from sessions_app.transcripts.writers import WRITERS

ARCHIVE = "daybook"
FORMATS = (*WRITERS, ARCHIVE)
ARCHIVE_TYPE = "application/x-ndjson"
LONGEST_NAME = 200


def redactor_of(caller: Caller, form: str, redact: bool | None) -> Redactor | None:
    """By default as the agent is set. An archive is there to be read back: whole unless asked otherwise."""
    if redact is None:
        return None if form == ARCHIVE else redactor_for(caller.redaction, "export")
    return Redactor(caller.redaction) if redact else None


def one(
    caller: Caller,
    session: Session,
    form: str,
    now: datetime,
    *,
    redact: bool | None = None,
    include_hidden: bool = False,
) -> Iterator[bytes]:
    redactor = redactor_of(caller, form, redact)
    if form == ARCHIVE:
        return archive_out.write(caller, [session], now, redactor=redactor, whole=False)
    written: Iterator[bytes] = WRITERS[form].write(
        transcript(caller, session, redactor=redactor, include_hidden=include_hidden)
    )
    return written


CONTENT_TYPES = (ARCHIVE_TYPE, *(str(writer.CONTENT_TYPE) for writer in WRITERS.values()))


def content_type(form: str) -> str:
    return ARCHIVE_TYPE if form == ARCHIVE else str(WRITERS[form].CONTENT_TYPE)


def file_name(session: Session, form: str) -> str:
    """nanobot finds a session again by its file's name: the open one of a key has just that."""
    ending = "jsonl" if form == ARCHIVE else WRITERS[form].ENDING
    if form != "nanobot":
        return f"{session.uid}.{ending}"
    stem = base64.urlsafe_b64encode(session.key.encode()).decode().rstrip("=")
    if session.ended_at is not None or len(stem) > LONGEST_NAME:
        stem = f"{stem[:LONGEST_NAME]}.{session.uid}"
    return f"{stem}.{ending}"


def many(
    caller: Caller,
    sessions: Iterable[Session],
    form: str,
    now: datetime,
    *,
    redact: bool | None = None,
    include_hidden: bool = False,
    whole: bool = False,
) -> Iterator[bytes]:
    """An archive, or a zip with a file for each session: piece by piece, nothing is kept."""
    if form == ARCHIVE:
        redactor = redactor_of(caller, form, redact)
        yield from archive_out.write(caller, sessions, now, redactor=redactor, whole=whole)
        return
    stream = _Pieces()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:  # type: ignore[call-overload]
        for session in sessions:
            with packed.open(file_name(session, form), "w", force_zip64=True) as member:
                for piece in one(caller, session, form, now, redact=redact, include_hidden=include_hidden):
                    member.write(piece)
                    yield from stream.take()
            yield from stream.take()
    yield from stream.take()


class _Pieces:
    """A file that can only be written to: what was written is taken away at once."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: bytes) -> int:
        self._pieces.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        pass

    def take(self) -> Iterator[bytes]:
        pieces, self._pieces = self._pieces, []
        if pieces:
            yield b"".join(pieces)
