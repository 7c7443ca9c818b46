"""Statements of the hot path, the same on both databases, past the ORM, which takes longer than they do."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.storage import storage


def rows(statement: str, parameters: Sequence[Any]) -> list[Any]:
    """What a statement returns; each of ours returns something, if only a number."""
    if connection.vendor == "sqlite":
        parameters = [_for_sqlite(value) for value in parameters]
    return storage().rows(statement, parameters)


def locking() -> str:
    """Whoever else would move the same row waits; on SQLite all writers wait anyway."""
    return "" if connection.vendor == "sqlite" else " FOR UPDATE"


def sharing() -> str:
    """Whoever would erase the row waits; on SQLite all writers wait anyway."""
    return "" if connection.vendor == "sqlite" else " FOR KEY SHARE"


def writers_wait(table: str) -> None:
    """Until the end of the transaction; on SQLite they wait for any."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN SHARE MODE")


def stamp_sql() -> str:
    """A number that no commit after a look is below (`nearest.py`); parameters: the agent, the model.

    SQLite has one writer at a time: the time, and always more than there is. On PostgreSQL commits come in
    the order of no number: it is that of the transaction, and a look remembers the oldest one under way.
    """
    if connection.vendor == "sqlite":
        # The newest by index: an aggregate beside other terms would read all of them.
        return (
            "(SELECT MAX(COALESCE((SELECT stamp FROM skills_app_queryvector"
            " WHERE agent_id = %s AND model = %s"
            " ORDER BY stamp DESC LIMIT 1), 0) + 1,"
            " CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000))"
        )
    return "(SELECT pg_current_xact_id()::text::bigint WHERE %s::bigint > 0 AND %s::text <> '')"


def _for_sqlite(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")
    if isinstance(value, date):
        return value.isoformat()
    return value.hex if isinstance(value, UUID) else value
