"""session-buddy: uses of skills, of its metrics or its database. Aggregates and vectors are made anew."""

from typing import Any

import orjson

from sessions_app.transcripts.databases import columns_of, is_database, opened, rows_of
from sessions_app.transcripts.lines import NotJson, json_fields, storable
from sessions_app.transcripts.records import File, Invoked, Records, Skipped, Unreadable
from sessions_app.transcripts.times import moment

NAME = "session-buddy"
TABLE = "skill_invocation"
FIELDS = (
    "skill_name", "invoked_at", "session_id", "workflow_path", "workflow_phase", "workflow_step_id",
    "completed", "duration_seconds", "user_query", "alternatives_considered", "selection_rank",
    "follow_up_actions", "error_type",
)  # fmt: skip
LISTS = ("alternatives_considered", "follow_up_actions")


def read(file: File) -> Records:
    yield from _database(file) if is_database(file) else _document(file)


def _document(file: File) -> Records:
    number = 0
    try:
        with file.open() as stream:
            for found in json_fields(stream, frozenset({"invocations"})):
                if found.is_item:
                    number += 1
                    yield _invoked(found.value, number, file)
    except NotJson as error:
        yield Skipped(number + 1, f"the list is {error} behind invocation {number}")


def _database(file: File) -> Records:
    with opened(file) as database:
        known = [name for name in columns_of(database, TABLE) if name in FIELDS]
        if "skill_name" not in known:
            raise Unreadable(f"the database has no table {TABLE} with skill names")
        for number, row in enumerate(rows_of(database, TABLE, known, "rowid"), 1):
            yield _invoked(storable(row)[0], number, file)


def _invoked(raw: Any, number: int, file: File) -> Invoked | Skipped:
    if not isinstance(raw, dict) or not isinstance(raw.get("skill_name"), str) or not raw["skill_name"]:
        return Skipped(number, "an invocation without a skill")
    at = moment(raw.get("invoked_at"), file.zone)
    if at is None:
        return Skipped(number, "an invocation without a time")
    found = {name: raw[name] for name in FIELDS if raw.get(name) is not None}
    for name in LISTS:
        if isinstance(found.get(name), str):
            found[name] = _list(found[name])
    if "completed" in found:
        found["completed"] = bool(found["completed"])
    return Invoked(found | {"invoked_at": at.isoformat()})


def _list(text: str) -> list[Any]:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return [text] if text else []
    return found if isinstance(found, list) else [found]
