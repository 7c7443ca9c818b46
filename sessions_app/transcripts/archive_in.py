"""Reads an archive of ours back: into an empty server, the same state; elsewhere, what is not there yet."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import connection

from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.entries import Entry
from sessions_app.models import Agent, ImportedSession, Session, time_ordered_id
from sessions_app.sessions import UID, of
from sessions_app.storage.statements import moves
from sessions_app.transcripts import archive
from sessions_app.transcripts.archive_checks import WRONG, columns_of, entry_of, settings_of
from sessions_app.transcripts.lines import Line, json_lines
from sessions_app.transcripts.placing import IMPORTED, relate
from sessions_app.transcripts.records import File, Unreadable
from sessions_app.transcripts.report import FileReport
from sessions_app.transcripts.storing import INSERT

FORMAT = "daybook"
BATCH = 500
BATCH_BYTES = 4 * 1024 * 1024
_UTC = ZoneInfo("UTC")


@dataclass(slots=True)
class _Pending:
    """Lines that go in together: entries of one session, and what capabilities keep of it."""

    session: dict[str, Any] | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    kept: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    size: int = 0

    def is_full(self) -> bool:
        return len(self.rows) + len(self.kept) >= BATCH or self.size >= BATCH_BYTES


def load(caller: Caller, file: File, now: datetime, told: FileReport, *, dry_run: bool) -> Iterator[None]:
    pending = _Pending()
    complete = False
    with file.open() as stream:
        lines = json_lines(stream)
        _begin(caller, next(lines, None), told, dry_run=dry_run)
        for line in lines:
            name, value = _named(line, told)
            if name == archive.END:
                complete = True
            if name in ("", archive.END):
                continue
            if name == archive.SESSION or pending.is_full():
                yield from _flush(caller, pending, now, told, dry_run=dry_run)
                pending = _Pending(pending.session)
            if name == archive.SESSION:
                pending = _Pending(value)
            elif name == archive.MESSAGE:
                told.counts["read"] += 1
                pending.rows.append(value)
                pending.size += len(str(value.get("body")))
            else:
                pending.kept.append((name, value))
        yield from _flush(caller, pending, now, told, dry_run=dry_run)
    if not complete:
        told.error = "the archive was cut off: its last line is missing"


def _begin(caller: Caller, line: Line | None, told: FileReport, *, dry_run: bool) -> None:
    head = line.value if line is not None and isinstance(line.value, dict) else {}
    if head.get("daybook") != archive.VERSION:
        found = head.get("daybook")
        raise Unreadable(
            f"an archive of version {found}; this Daybook reads {archive.VERSION}" if found else "no archive"
        )
    settings = head.get("agent")
    if dry_run or not isinstance(settings, dict) or of(caller).exists():
        return
    # A new agent gets the settings of the old one; whoever has sessions keeps its own.
    try:
        given = settings_of(caller.agent, settings)
        commit(lambda: Agent.objects.filter(pk=caller.agent_id).update(**given))
    except WRONG as error:
        told.note("skipped", _misfit("settings", error), 1)


def _named(line: Line, told: FileReport) -> tuple[str, dict[str, Any]]:
    if isinstance(line.value, dict) and len(line.value) == 1:
        ((name, value),) = line.value.items()
        if isinstance(value, dict) and (
            name in (archive.SESSION, archive.MESSAGE, archive.END) or name in archive.parts
        ):
            return name, value
        told.note("skipped", f"nobody here knows what {name[:40]!r} is", line.number)
    else:
        told.note("skipped", line.problem or "not a line of an archive", line.number)
    return "", {}


def _flush(
    caller: Caller, pending: _Pending, now: datetime, told: FileReport, *, dry_run: bool
) -> Iterator[None]:
    if pending.session is None and not pending.kept:
        return
    try:
        told.counts.update(commit(lambda: _store(caller, pending, now, dry_run=dry_run)))
    except WRONG as error:
        told.note("skipped", _misfit("a session", error), 0)
        return
    if not dry_run:
        _keep(caller, pending, now, told)
    yield


def _misfit(what: str, error: Exception) -> str:
    return f"{what} not as an archive has it: {type(error).__name__} {error}"[:200]


def _store(caller: Caller, pending: _Pending, now: datetime, *, dry_run: bool) -> dict[str, int]:
    """Runs inside `commit`."""
    session, made = None, False
    if pending.session is not None:
        session, made = _session(caller, pending.session, now, dry_run=dry_run)
    last = session.last_seq if session else 0
    entries = [entry_of(row) for row in pending.rows if row["seq"] > last]
    if session is not None and entries and not dry_run:
        _append(caller, session, pending.session or {}, entries)
    return {"sessions": int(made), "stored": len(entries), "known": len(pending.rows) - len(entries)}


def _keep(caller: Caller, pending: _Pending, now: datetime, told: FileReport) -> None:
    """What capabilities keep: together, and where one of them does not fit, each for itself."""

    def load(kept: list[tuple[str, dict[str, Any]]]) -> None:
        session = None
        if pending.session is not None:
            session, _ = _session(caller, pending.session, now, dry_run=False)
        for name, value in kept:
            part = archive.parts[name]
            if part.load is not None:
                part.load(caller, value, session, now)

    try:
        if pending.kept:
            commit(lambda: load(pending.kept))
    except WRONG:
        for kept in pending.kept:
            try:
                commit(partial(load, [kept]))
            except WRONG as error:
                told.note("skipped", _misfit(f"a {kept[0]}", error), 0)


def _session(
    caller: Caller, given: dict[str, Any], now: datetime, *, dry_run: bool
) -> tuple[Session | None, bool]:
    ref = str(given["id"])
    known = ImportedSession.objects.filter(agent_id=caller.agent_id, format=FORMAT, ref=ref).first()
    if known is not None:
        return Session.objects.select_for_update(no_key=True).get(pk=known.session_id), False
    own = of(caller).select_for_update(no_key=True).filter(uid=UUID(ref)).first() if UID.match(ref) else None
    if own is not None:
        return own, False
    if dry_run:
        return None, True
    session = _made(caller, given, ref)
    imported = ImportedSession.objects.create(
        agent_id=caller.agent_id,
        session=session,
        format=FORMAT,
        ref=ref,
        previous_ref=given.get("previous_id") or "",
        fork_ref=given.get("forked_from_id") or "",
    )
    relate(imported, session)
    session.save(update_fields=["previous", "forked_from"])
    return session, True


def _made(caller: Caller, given: dict[str, Any], ref: str) -> Session:
    columns = columns_of(given)
    # Another agent's session may have this id: what is that agent's stays so.
    is_free = UID.match(ref) and not Session.objects.filter(uid=UUID(ref)).exists()
    session = Session(uid=UUID(ref) if is_free else time_ordered_id(), agent_id=caller.agent_id, **columns)
    session.consolidated_through = 0
    taken = of(caller).filter(key=session.key, ended_at__isnull=True).exists()
    if session.ended_at is None and taken:
        session.ended_at, session.end_reason = session.updated_at, IMPORTED
        session.reset_check_at = session.consolidate_check_at = None
    session.save(force_insert=True)
    return session


def _append(
    caller: Caller, session: Session, given: dict[str, Any], entries: list[tuple[int, Entry, str]]
) -> None:
    """Counters and times that follow from the entries; all others are the archive's."""
    stamp = connection.ops.adapt_datetimefield_value
    rows = [
        (caller.agent_id, session.pk, seq, *entry[:6], stamp(entry.created_at), hidden)
        for seq, entry, hidden in entries
    ]
    if [seq for seq, *_ in entries] != list(range(session.last_seq + 1, session.last_seq + len(entries) + 1)):
        raise ValueError("entries are missing or out of order")
    with connection.cursor() as cursor:
        cursor.executemany(INSERT, rows)
    moved = moves([entry for _, entry, _ in entries])
    session.last_seq += moved.total
    session.messages_count += moved.messages
    session.tool_calls_count += moved.tool_calls
    session.errors_count += moved.errors
    session.decisions_count += moved.decisions
    session.first_at = min(filter(None, (session.first_at, moved.first_at)))
    session.last_at = max(filter(None, (session.last_at, moved.last_at)))
    session.consolidated_through = min(int(given["consolidated_through"]), session.last_seq)
    session.save()
