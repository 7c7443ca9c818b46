"""hermes: a database of any version, an index of sessions, transcripts a line a message, and its exports.

The same message may be in its database and in a transcript: it counts once, by role, content and call."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from sessions_app.transcripts.databases import is_database
from sessions_app.transcripts.fitting import fitted
from sessions_app.transcripts.formats import hermes_database
from sessions_app.transcripts.formats import hermes_heads as heads
from sessions_app.transcripts.lines import NotJson, json_fields, json_lines
from sessions_app.transcripts.marks import digest
from sessions_app.transcripts.records import (
    File,
    Records,
    Repaired,
    Said,
    Skipped,
    Unreadable,
)
from sessions_app.transcripts.times import moment, naive

NAME = "hermes"
META = "session_meta"
LONGEST_NAME = 200
# Columns that say where a row stands, and nothing of what was said.
PLACE = ("id", "session_id", "active", "compacted")


def read(file: File) -> Records:
    if is_database(file):
        yield from hermes_database.read(file, partial(_of_rows, file=file), partial(_beside, file=file))
    elif file.name.endswith(".jsonl"):
        yield from _lines(file)
    elif Path(file.name).name == heads.INDEX:
        yield from _index(file)
    else:
        yield from _document(file)


class _Ids:
    """Counts equal messages of one session, in whichever of its files they stand."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, record: dict[str, Any]) -> str:
        found = digest([record.get("role"), record.get("content") or "", record.get("tool_call_id")])
        self._seen[found] += 1
        return f"{found}.{self._seen[found]}"


def _index(file: File) -> Records:
    try:
        with file.open() as stream:
            for number, found in enumerate(json_fields(stream), 1):
                if isinstance(found.value, dict) and isinstance(found.value.get("session_id"), str):
                    yield from heads.of_entry(found.name, found.value)
                else:
                    yield Skipped(number, "not an entry of a session")
    except NotJson as error:
        raise Unreadable(f"the index is {error}") from None


def _lines(file: File) -> Records:
    """A transcript, or an export: a session with all of its messages a line."""
    ids = _Ids()
    ref = file.stem
    begun = False
    before = None
    with file.open() as stream:
        for line in json_lines(stream):
            record = line.value
            if line.problem:
                yield Repaired(line.number, line.problem) if record else Skipped(line.number, line.problem)
            if not isinstance(record, dict) or not (
                "role" in record or isinstance(record.get("messages"), list)
            ):
                if record is not None:
                    yield Skipped(line.number, "not a message")
                continue
            if "role" not in record:
                yield from _exported(record, line.number, file)
                continue
            is_meta = record["role"] == META
            if not begun:
                begun = True
                yield from heads.of_transcript(ref, record if is_meta else {}, file)
            if is_meta:
                continue
            said = Said(ref, ids.of(record), fitted(record, file.zone, before), line.number)
            before = moment(said.message.get("created_at"), file.zone) or before
            yield said


def _exported(given: dict[str, Any], line: int, file: File) -> Records:
    rest = {name: value for name, value in given.items() if name != "messages"}
    ref = rest.get("session_id") or rest.get("id")
    if not isinstance(ref, str) or not ref:
        yield Skipped(line, "a session without an id")
        return
    yield from heads.of_row(ref, rest, file)
    ids = _Ids()
    for message in given["messages"]:
        if isinstance(message, dict) and "role" in message and message["role"] != META:
            yield _said(ref, ids, message, line, file)
        elif not isinstance(message, dict) or message.get("role") != META:
            yield Skipped(line, "not a message")


def _document(file: File) -> Records:
    """One session in one object."""
    fields: dict[str, Any] = {}
    ref = file.stem.removeprefix("session_")
    ids, begun, number = _Ids(), False, 0
    try:
        with file.open() as stream:
            for found in json_fields(stream, frozenset({"messages"})):
                if not found.is_item:
                    fields[found.name] = found.value
                    continue
                if not begun:
                    begun, ref = True, str(fields.get("session_id") or ref)
                    yield from heads.of_document(ref, fields, file)
                number += 1
                if isinstance(found.value, dict) and found.value.get("role") not in (None, META):
                    yield _said(ref, ids, found.value, number, file)
                else:
                    yield Skipped(number, "not a message")
    except NotJson as error:
        yield Skipped(number + 1, f"the file is {error} behind message {number}")


def _of_rows(ref: str, rows: Iterator[tuple[int, dict[str, Any]]], *, file: File) -> Iterator[Said]:
    ids = _Ids()
    for number, row in rows:
        if row.get("role") != META:
            line = row["id"] if isinstance(row.get("id"), int) else number
            yield _said(ref, ids, row, line, file)


def _beside(ref: str, *, file: File) -> Iterator[Said]:
    """Its id comes from a stranger's file: only a plain name leads to a transcript."""
    name = f"{ref}.jsonl"
    if Path(name).name != name or "\x00" in name or len(name) > LONGEST_NAME:
        return
    place = file.path.parent / "sessions" / name
    if place.is_file():
        for record in _lines(File(place, name, file.zone)):
            if isinstance(record, Said) and record.ref == ref:
                yield record


def _said(ref: str, ids: _Ids, row: dict[str, Any], line: int, file: File) -> Said:
    """Of a row: what was rewound or compacted stays in the record and out of the window."""
    at = moment(row.get("timestamp"), file.zone)
    record = {name: value for name, value in row.items() if name not in PLACE and value is not None}
    if at is not None:
        record["timestamp"] = naive(at, file.zone)
    hidden = "compact" if row.get("compacted") == 1 else "rewind" if row.get("active") == 0 else ""
    return Said(ref, ids.of(row), fitted(record, file.zone, at), line, hidden)
