"""One batch of an import in one transaction: sessions found or made, new messages behind the last, marks."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.access import Caller
from sessions_app.entries import FUTURE, Entry, entry
from sessions_app.models import ImportedRecord, ImportedSession, Session
from sessions_app.problems import Invalid
from sessions_app.redaction import for_storage
from sessions_app.storage.statements import moves
from sessions_app.transcripts.marks import mark_of
from sessions_app.transcripts.placing import place
from sessions_app.transcripts.records import Condensed, Head, Invoked, Record, Retitled, Said, Totals, Usage
from sessions_app.transcripts.report import FileReport
from sessions_app.transcripts.times import moment

INSERT = """
INSERT INTO sessions_app_message
  (agent_id, session_id, seq, kind, role, body, extra, plain, tokens, created_at, hidden_by)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
MARK = "INSERT INTO sessions_app_importedrecord (agent_id, session_id, mark) VALUES (%s, %s, %s)"
IMPORTED_AT = "imported_time"

Item = Head | Said | Totals | Condensed | Retitled


@dataclass(slots=True)
class Ready:
    """A record that was checked, with its mark and the row it becomes."""

    ref: str
    mark: UUID
    record: Said | Condensed
    entry: Entry | None = None


@dataclass(slots=True)
class Batch:
    caller: Caller
    format: str
    now: datetime
    told: FileReport
    items: list[Ready | Head | Totals | Retitled] = field(default_factory=list)
    new_heads: list[Head] = field(default_factory=list)
    invocations: list[dict[str, Any]] = field(default_factory=list)
    heads: dict[str, Head] = field(default_factory=dict)
    count: int = 0
    bytes: int = 0

    def add(self, record: Record) -> None:
        self.count += 1
        if isinstance(record, Invoked):
            self.invocations.append(record.invocation)
        elif isinstance(record, Head):
            self.items.append(record)
            self.new_heads.append(record)
        elif isinstance(record, Condensed):
            self.items.append(Ready(record.ref, self._mark(record.ref, record.id), record))
        elif isinstance(record, Said):
            self._add_said(record)
        elif isinstance(record, Totals | Retitled):
            self.items.append(record)

    def _add_said(self, said: Said) -> None:
        ready = self.ready(said)
        if ready is not None and ready.entry is not None:
            self.bytes += len(ready.entry.body) + len(ready.entry.extra or "")
            self.items.append(ready)

    def ready(self, said: Said) -> Ready | None:
        try:
            stored = entry(self._in_time(said.message), now=self.now, zone=self.caller.zone, any_size=True)
        except Invalid as refused:
            self.told.note("skipped", refused.detail[:200], said.line)
            return None
        return Ready(said.ref, self.mark(said, said.id), said, for_storage(self.caller.redaction, stored))

    def mark(self, said: Said, record_id: str) -> UUID:
        return self._mark("" if said.anywhere else said.ref, record_id)

    def _in_time(self, message: dict[str, Any]) -> dict[str, Any]:
        """A time ahead of ours comes from a wrong clock: it is kept beside, and does not rule the order."""
        at = moment(message.get("created_at"), self.caller.zone)
        if at is None or at <= self.now + FUTURE:
            return message
        metadata = {**(message.get("metadata") or {}), IMPORTED_AT: message["created_at"]}
        return message | {"created_at": self.now.isoformat(), "metadata": metadata}

    def _mark(self, *parts: str) -> UUID:
        return mark_of(self.format, *parts)


def store(batch: Batch, *, dry_run: bool) -> Counter[str]:
    """Runs inside `commit`. What was new and what was there already."""
    known = _known(batch, [item.mark for item in batch.items if isinstance(item, Ready)])
    counts: Counter[str] = Counter()
    for ref, items in _by_session(_with_rests(batch, known)).items():
        new = _only_new(items, known, counts)
        if dry_run:
            counts["sessions"] += any(isinstance(item, Head) for item in items) and not _is_there(batch, ref)
            counts["stored"] += sum(isinstance(item.record, Said) for item in new)
            continue
        counts["sessions"] += _store_session(batch, ref, items, new, known)
        counts["stored"] += sum(isinstance(item.record, Said) for item in new)
    return counts


def _by_session(items: Iterable[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(item.ref, []).append(item)
    return found


def _known(batch: Batch, marks: list[UUID]) -> dict[UUID, int]:
    """Which of them are there, with the sessions that have them."""
    found = ImportedRecord.objects.filter(agent_id=batch.caller.agent_id, mark__in=marks)
    return dict(found.values_list("mark", "session_id")) if marks else {}


def _with_rests(batch: Batch, known: dict[UUID, int]) -> Iterator[Item | Ready]:
    """A message that was stored before all of its pieces were there is followed by the rest."""
    in_pieces = {
        batch.mark(item.record, item.record.as_far_as(pieces)): pieces
        for item in batch.items
        if isinstance(item, Ready) and isinstance(item.record, Said) and item.mark in known
        for pieces in range(1, item.record.pieces)
    }
    unfinished = _known(batch, list(in_pieces))
    for item in batch.items:
        yield item
        if isinstance(item, Ready) and isinstance(item.record, Said) and item.record.rest and unfinished:
            said, rest = item.record, item.record.rest
            stored = [
                pieces
                for pieces in range(1, said.pieces)
                if batch.mark(said, said.as_far_as(pieces)) in unfinished
            ]
            if stored and (ready := batch.ready(rest(max(stored)))) is not None:
                known |= _known(batch, [ready.mark])
                yield ready


def _only_new(items: list[Any], known: dict[UUID, int], counts: Counter[str]) -> list[Ready]:
    new = []
    for item in items:
        if isinstance(item, Ready):
            if item.mark in known:
                counts["known"] += isinstance(item.record, Said)
            else:
                known[item.mark] = 0
                new.append(item)
    return new


def _is_there(batch: Batch, ref: str) -> bool:
    of_agent = ImportedSession.objects.filter(agent_id=batch.caller.agent_id, format=batch.format)
    return of_agent.filter(ref=ref).exists()


def _store_session(batch: Batch, ref: str, items: list[Any], new: list[Ready], known: dict[UUID, int]) -> int:
    head = batch.heads.get(ref) or Head(ref, f"{batch.format}:{ref}")
    first = min((item.entry.created_at for item in new if item.entry), default=None)
    imported, session, made = place(batch.caller, batch.format, head, first, batch.now)
    if session.forked_from_id is None and (origin := _copied_from(items, known, session)):
        session.forked_from_id = origin
    _append(batch, session, new, head)
    for item in items:
        if isinstance(item, Totals):
            _raise_totals(imported, session, item.usage)
        elif isinstance(item, Retitled):
            session.title = item.title
    session.save()
    return made


def _copied_from(items: list[Any], known: dict[UUID, int], session: Session) -> UUID | None:
    """The session that has had records of this one before."""
    others = (known.get(item.mark, 0) for item in items if isinstance(item, Ready))
    origin = next((pk for pk in others if pk not in (0, session.pk)), None)
    return None if origin is None else Session.objects.values_list("uid", flat=True).get(pk=origin)


def _append(batch: Batch, session: Session, new: list[Ready], head: Head) -> None:
    entries: list[Entry] = []
    rows = []
    stamp = connection.ops.adapt_datetimefield_value
    for item in new:
        if item.entry is None:
            _condense(session, item.record, session.last_seq + len(entries))
            continue
        entries.append(item.entry)
        seq = session.last_seq + len(entries)
        hidden = item.record.hidden_by if isinstance(item.record, Said) else ""
        kept, at = item.entry[:6], stamp(item.entry.created_at)
        rows.append((batch.caller.agent_id, session.pk, seq, *kept, at, hidden))
        _spend(session, item.record)
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(INSERT, rows)
        _advance(session, entries, head)
    if new:
        value = ImportedRecord._meta.get_field("mark").get_db_prep_value
        marks = [
            (batch.caller.agent_id, session.pk, value(mark, connection))
            for item in new
            for mark in _marks(batch, item)
        ]
        with connection.cursor() as cursor:
            cursor.executemany(MARK, marks)


def _marks(batch: Batch, item: Ready) -> Iterator[UUID]:
    yield item.mark
    if isinstance(item.record, Said) and item.record.unfinished:
        yield batch.mark(item.record, item.record.as_far_as(item.record.pieces))


def _advance(session: Session, entries: list[Entry], head: Head) -> None:
    moved = moves(entries)
    untouched = session.imported_through == session.last_seq
    session.last_seq += moved.total
    session.messages_count += moved.messages
    session.tool_calls_count += moved.tool_calls
    session.errors_count += moved.errors
    session.decisions_count += moved.decisions
    session.first_at = min(filter(None, (session.first_at, moved.first_at)))
    session.last_at = max(filter(None, (session.last_at, moved.last_at)))
    session.active_at = max(filter(None, (session.active_at, moved.active_at)), default=None)
    session.updated_at = max(session.updated_at, moved.last_at)
    if untouched:
        session.imported_through = session.last_seq
        if head.condensed:
            session.consolidated_through = min(head.condensed, session.last_seq)
    if session.ended_at is not None:
        session.ended_at = max(session.ended_at, session.updated_at)


def _condense(session: Session, record: Said | Condensed, through: int) -> None:
    if isinstance(record, Condensed):
        session.consolidated_through = through
        session.summary = record.summary


def _spend(session: Session, record: Said | Condensed) -> None:
    usage = record.usage if isinstance(record, Said) else None
    if usage is not None:
        session.input_tokens += usage.input_tokens
        session.output_tokens += usage.output_tokens
        session.cost_usd += usage.cost_usd


def _raise_totals(imported: ImportedSession, session: Session, usage: Usage) -> None:
    """Only by what they have grown: the same totals twice add nothing."""
    for name in ("input_tokens", "output_tokens", "cost_usd"):
        grown = max(0, getattr(usage, name) - getattr(imported, name))
        setattr(session, name, getattr(session, name) + grown)
        setattr(imported, name, getattr(imported, name) + grown)
    imported.save(update_fields=["input_tokens", "output_tokens", "cost_usd"])
