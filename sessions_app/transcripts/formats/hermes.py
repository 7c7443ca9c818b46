"""hermes: a database of any version, an index of sessions, transcripts a line a message, and its exports.

The same message may be in its database and in a transcript: it counts once, by role, content and call."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from sessions_app.transcripts.databases import columns_of, is_database, opened, rows_of
from sessions_app.transcripts.fitting import fitted
from sessions_app.transcripts.formats import hermes_heads as heads
from sessions_app.transcripts.lines import NotJson, json_fields, json_lines, storable
from sessions_app.transcripts.marks import digest
from sessions_app.transcripts.records import (
    File,
    Record,
    Records,
    Repaired,
    Said,
    Skipped,
    Unreadable,
)
from sessions_app.transcripts.times import moment, naive

NAME = "hermes"
META = "session_meta"
# Content that is no text stands in the database as JSON behind this.
JSON_MARK = "\x00json:"
DOCUMENT = ("tool_calls", "reasoning_details")
# Columns that become fields of a message; all others are kept under their own names.
OWN = (
    "id",
    "session_id",
    "role",
    "content",
    "tool_call_id",
    "tool_calls",
    "tool_name",
    "timestamp",
    "active",
    "compacted",
)


def read(file: File) -> Records:
    if is_database(file):
        yield from _database(file)
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


def _database(file: File) -> Records:
    with opened(file) as database:
        known = columns_of(database, "sessions")
        if "id" not in known or "session_id" not in columns_of(database, "messages"):
            raise Unreadable("the database has no sessions and messages")
        routes = _routes(database)
        order = "started_at, id" if "started_at" in known else "id"
        for row in rows_of(database, "sessions", known, order):
            ref = str(row["id"])
            yield from heads.of_row(ref, routes.get(ref, {}) | _documents(row), file)
            yield from _messages(database, ref, file)


def _messages(database: sqlite3.Connection, ref: str, file: File) -> Iterator[Record]:
    columns = columns_of(database, "messages")
    ids = _Ids()
    order = "id" if "id" in columns else "rowid"
    for number, row in enumerate(
        rows_of(database, "messages", columns, order, where="WHERE session_id = ?", values=(ref,)), 1
    ):
        if row.get("role") != META:
            yield _said(ref, ids, _documents(row), int(row.get("id") or number), file)


def _routes(database: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    """What newer versions keep of the index of sessions in the database itself, by session."""
    found: dict[str, dict[str, Any]] = {}
    columns = columns_of(database, "gateway_routing")
    if not {"session_key", "entry_json"} <= set(columns):
        return found
    for row in rows_of(database, "gateway_routing", ["session_key", "entry_json"], "rowid"):
        entry = _json(row["entry_json"])
        if isinstance(entry, dict) and isinstance(entry.get("session_id"), str):
            found[entry["session_id"]] = {"session_key": row["session_key"], "origin": entry.get("origin")}
    return found


def _documents(row: dict[str, Any]) -> dict[str, Any]:
    found = dict(row)
    for name in (*DOCUMENT, "model_config", "origin_json"):
        if isinstance(found.get(name), str):
            found[name] = _json(found[name])
    content = found.get("content")
    if isinstance(content, str) and content.startswith(JSON_MARK):
        found["content"] = _json(content.removeprefix(JSON_MARK))
    plain: dict[str, Any] = storable(found)[0]
    return plain


def _said(ref: str, ids: _Ids, row: dict[str, Any], line: int, file: File) -> Said:
    """Of a row: what was rewound or compacted stays in the record and out of the window."""
    at = moment(row.get("timestamp"), file.zone)
    record = {
        name: row[name]
        for name in ("role", "content", "tool_call_id", "tool_calls")
        if row.get(name) is not None
    }
    if row.get("tool_name"):
        record["name"] = row["tool_name"]
    record |= {name: value for name, value in row.items() if name not in OWN and value is not None}
    if "reasoning_content" not in record and isinstance(record.get("reasoning"), str):
        record["reasoning_content"] = record.pop("reasoning")
    if at is not None:
        record["timestamp"] = naive(at, file.zone)
    hidden = "rewind" if row.get("active") == 0 else "compact" if row.get("compacted") == 1 else ""
    return Said(ref, ids.of(row), fitted(record, file.zone, at), line, hidden)


def _json(text: Any) -> Any:
    try:
        return orjson.loads(text)
    except (orjson.JSONDecodeError, TypeError):
        return text
