"""Statements of the hot path, the same on both databases, past the ORM, which takes longer than they do."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.storage import storage


def rows(statement: str, parameters: Sequence[Any]) -> list[Any]:
    """What a statement returns; each of ours returns something, if only a number."""
    if _is_sqlite():
        parameters = [_TEXTS[type(value)](value) if type(value) in _TEXTS else value for value in parameters]
    return storage().rows(statement, parameters)


@cache
def _is_sqlite() -> bool:
    """It stays what it is, and asking Django takes as long as a short statement."""
    return connection.vendor == "sqlite"


@cache
def repeated(statement: str, row: str, times: int) -> str:
    """With so many rows in the place of its values."""
    return statement.format(values=", ".join([row] * times))


def locking() -> str:
    """Whoever else would move the same row waits; on SQLite all writers wait anyway."""
    return "" if _is_sqlite() else " FOR UPDATE"


def sharing() -> str:
    """Whoever would erase the row waits; on SQLite all writers wait anyway."""
    return "" if _is_sqlite() else " FOR KEY SHARE"


def writers_wait(table: str) -> None:
    """Until the end of the transaction; on SQLite they wait for any."""
    if not _is_sqlite():
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN SHARE MODE")


def stamp_sql() -> str:
    """A number that no commit after a look is below (`nearest.py`); parameters: the agent, the model.

    SQLite has one writer at a time: the time, and always more than there is. On PostgreSQL commits come in
    the order of no number: it is that of the transaction, and a look remembers the oldest one under way.
    """
    if _is_sqlite():
        # The newest by index: an aggregate beside other terms would read all of them.
        return (
            "(SELECT MAX(COALESCE((SELECT stamp FROM skills_app_queryvector"
            " WHERE agent_id = %s AND model = %s"
            " ORDER BY stamp DESC LIMIT 1), 0) + 1,"
            " CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000))"
        )
    return "(SELECT pg_current_xact_id()::text::bigint WHERE %s::bigint > 0 AND %s::text <> '')"


def _moment(value: datetime) -> str:
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


# As Django writes them.
_TEXTS: dict[type, Callable[[Any], str]] = {
    datetime: _moment,
    date: date.isoformat,
    UUID: lambda value: value.hex,
}
