"""hermes' state.db, of any version, put together with what only a transcript beside it knows."""

import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import orjson

from sessions_app.transcripts.databases import columns_of, opened, rows_of, types_of
from sessions_app.transcripts.formats import hermes_heads as heads
from sessions_app.transcripts.lines import storable
from sessions_app.transcripts.records import File, Records, Said, Unreadable

# Content that is no text stands in the database as JSON behind this.
JSON_MARK = "\x00json:"
DOCUMENTS = ("tool_calls", "reasoning_details", "model_config", "origin_json")

Row = dict[str, Any]
# Of numbered rows: the messages that they are.
OfRows = Callable[[str, Iterator[tuple[int, Row]]], Iterator[Said]]
# Of a session: the messages of a transcript beside the database.
Beside = Callable[[str], Iterator[Said]]


def read(file: File, of_rows: OfRows, beside: Beside) -> Records:
    with opened(file) as database:
        known = columns_of(database, "sessions")
        if "id" not in known or "session_id" not in columns_of(database, "messages"):
            raise Unreadable("the database has no sessions and messages")
        routes = _routes(database)
        order = "started_at, id" if "started_at" in known else "id"
        for row in rows_of(database, "sessions", known, order):
            given = _decoded(row)
            ref = str(given["id"])
            yield from heads.of_row(ref, routes.get(ref, {}) | given, file)
            yield from united(partial(_messages, database, row["id"], ref, of_rows), partial(beside, ref))


def united(own: Callable[[], Iterator[Said]], others: Callable[[], Iterator[Said]]) -> Iterator[Said]:
    """Each message once, and what only one of the two has stands where that one has it."""
    ahead = {said.id for said in others()}
    if not ahead:
        yield from own()
        return
    known = {said.id for said in own()}
    rest = others()
    for said in own():
        while said.id in ahead:
            other = next(rest)
            ahead.discard(other.id)
            if other.id not in known:
                yield other
        yield said
    yield from (other for other in rest if other.id not in known)


def _messages(database: sqlite3.Connection, key: Any, ref: str, of_rows: OfRows) -> Iterator[Said]:
    columns = columns_of(database, "messages")
    rows = rows_of(
        database, "messages", columns, _order(database, columns), where="WHERE session_id = ?", values=(key,)
    )
    return of_rows(ref, ((number, _decoded(row)) for number, row in enumerate(rows, 1)))


def _order(database: sqlite3.Connection, columns: list[str]) -> str:
    """Numbers are given out in turn; other ids say nothing of the order, and times do."""
    if "INT" in types_of(database, "messages").get("id", "").upper():
        return "id"
    return "timestamp, rowid" if "timestamp" in columns else "rowid"


def _routes(database: sqlite3.Connection) -> dict[str, Row]:
    """What newer versions keep of the index of sessions in the database itself, by session."""
    found: dict[str, Row] = {}
    columns = columns_of(database, "gateway_routing")
    if not {"session_key", "entry_json"} <= set(columns):
        return found
    for row in rows_of(database, "gateway_routing", ["session_key", "entry_json"], "rowid"):
        entry = storable(_json(row["entry_json"]))[0]
        if isinstance(entry, dict) and isinstance(entry.get("session_id"), str):
            found[entry["session_id"]] = {
                "session_key": storable(row["session_key"])[0],
                "origin": entry.get("origin"),
            }
    return found


def _decoded(row: Row) -> Row:
    found = dict(row)
    for name in DOCUMENTS:
        if isinstance(found.get(name), str):
            found[name] = _json(found[name])
    content = found.get("content")
    if isinstance(content, str) and content.startswith(JSON_MARK):
        found["content"] = _json(content.removeprefix(JSON_MARK))
    plain: Row = storable(found)[0]
    return plain


def _json(text: Any) -> Any:
    try:
        return orjson.loads(text)
    except (orjson.JSONDecodeError, TypeError):
        return text
