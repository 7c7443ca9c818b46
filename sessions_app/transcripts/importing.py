"""The import: whatever a reader finds goes into the record in short transactions, each record once.

Each transaction stores messages together with their marks. An import that was killed is simply run again:
what has its mark is passed over."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

import structlog

from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.transcripts import archive_in, detect
from sessions_app.transcripts.files import files_of
from sessions_app.transcripts.formats import AUTO, DAYBOOK, READERS
from sessions_app.transcripts.records import (
    File,
    Head,
    Record,
    Refused,
    Repaired,
    Said,
    Skipped,
    Unknown,
    Unreadable,
)
from sessions_app.transcripts.report import FileReport, Report
from sessions_app.transcripts.storing import Batch, store
from sessions_app.transcripts.wiring import invocation_sink

BATCH = 500
BATCH_BYTES = 4 * 1024 * 1024

log = structlog.get_logger(__name__)
# Told after each batch: the file, and what has become of it so far.
Progress = Callable[[File, FileReport], None]


def import_path(
    caller: Caller,
    form: str,
    path: Path,
    now: datetime,
    *,
    name: str = "",
    dry_run: bool = False,
    room: Path | None = None,
    progress: Progress | None = None,
    report: Report | None = None,
) -> Report:
    """A broken file never stops the others; what happened to each is in the report."""
    report = report or Report(dry_run)
    try:
        with files_of(path, name or path.name, caller.zone, room) as files:
            for file in files:
                if isinstance(file, Refused):
                    report.add(FileReport(file.name, error=file.reason))
                else:
                    report.add(_import_file(caller, form, file, now, dry_run=dry_run, progress=progress))
    except Unreadable as error:
        report.add(FileReport(name or path.name, error=str(error)))
    return report


def _import_file(
    caller: Caller, form: str, file: File, now: datetime, *, dry_run: bool, progress: Progress | None
) -> FileReport:
    told = FileReport(file.name)
    try:
        told.format = detect.format_of(file) if form == AUTO else form
        if told.format == DAYBOOK:
            stored = archive_in.load(caller, file, now, told, dry_run=dry_run)
        else:
            records = _whole(READERS[told.format](file), file)
            stored = _import_records(caller, records, told, now, dry_run=dry_run)
        for _ in stored:
            if progress is not None:
                progress(file, told)
    except Unknown as error:
        # A folder holds other things too; a file that was named was meant.
        if file.alone:
            told.error = str(error)
        else:
            told.note("skipped", str(error), 0)
    except Unreadable as error:
        told.error = str(error)
    except OSError as error:
        told.error = f"the file cannot be read: {error.strerror}"
    return told


def _whole(records: Iterator[Record], file: File) -> Iterator[Record]:
    """A file that a reader stumbles over is broken as a whole, and the next one is read."""
    try:
        yield from records
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        log.exception("a reader failed", file=file.name)
        raise Unreadable(f"it cannot be read on: {type(error).__name__} {error}"[:300]) from None


def _import_records(
    caller: Caller, records: Iterator[Record], told: FileReport, now: datetime, *, dry_run: bool
) -> Iterator[None]:
    heads: dict[str, Head] = {}
    for batch in _batches(_noted(records, told), caller, told, now):
        batch.heads = heads
        for head in batch.new_heads:
            heads[head.ref] = head
        told.counts.update(commit(partial(store, batch, dry_run=dry_run)))
        _pass_on(caller, batch, told, dry_run=dry_run)
        # Sessions come one after the other, or a few at a time: the rest need not be remembered.
        _forget(heads, batch)
        yield


def _forget(heads: dict[str, Head], batch: Batch) -> None:
    if len(heads) > BATCH * 4:
        last = {item.ref for item in batch.items}
        for ref in [ref for ref in heads if ref not in last][: BATCH * 2]:
            del heads[ref]


def _noted(records: Iterator[Record], told: FileReport) -> Iterator[Record]:
    for record in records:
        if isinstance(record, Skipped):
            told.note("skipped", record.reason, record.line)
        elif isinstance(record, Repaired):
            told.note("repaired", record.reason, record.line)
        else:
            if isinstance(record, Said):
                told.counts["read"] += 1
            yield record


def _batches(records: Iterator[Record], caller: Caller, told: FileReport, now: datetime) -> Iterator[Batch]:
    """Bounded by number and by size, whatever a single record weighs."""
    broken: Unreadable | None = None
    ended = False
    while not ended:
        batch = Batch(caller, told.format, now, told)
        try:
            ended = _fill(batch, records)
        except Unreadable as error:
            # What was read up to there is good.
            broken, ended = error, True
        if batch.count:
            yield batch
    if broken is not None:
        raise broken


def _fill(batch: Batch, records: Iterator[Record]) -> bool:
    """Whether that was the last of them."""
    for record in records:
        batch.add(record)
        if batch.count >= BATCH or batch.bytes >= BATCH_BYTES:
            return False
    return True


def _pass_on(caller: Caller, batch: Batch, told: FileReport, *, dry_run: bool) -> None:
    """Uses of skills belong to another capability, where there is one."""
    if not batch.invocations:
        return
    told.counts["read"] += len(batch.invocations)
    sink = invocation_sink()
    if sink is None:
        for _ in batch.invocations:
            told.note("skipped", "a use of a skill: read, and there is no place for it yet", 0)
        return
    new = 0 if dry_run else sink(caller, batch.invocations)
    told.counts["invocations"] += new
    told.counts["known"] += 0 if dry_run else len(batch.invocations) - new
