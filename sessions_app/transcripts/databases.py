"""SQLite files of other programs: read only, by the names of their columns, whatever their version."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from sessions_app.transcripts.records import File, Unreadable

MAGIC = b"SQLite format 3\x00"


def is_database(file: File) -> bool:
    with file.open() as stream:
        return stream.read(len(MAGIC)) == MAGIC


@contextmanager
def opened(file: File) -> Iterator[sqlite3.Connection]:
    try:
        with closing(_connected(file.path.resolve().as_uri())) as database:
            # A stranger's file: its views and triggers run nothing.
            database.execute("PRAGMA trusted_schema=OFF")
            database.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield database
    except sqlite3.DatabaseError as error:
        raise Unreadable(f"the database cannot be read: {error}") from None


def _connected(address: str) -> sqlite3.Connection:
    database = sqlite3.connect(f"{address}?mode=ro", uri=True)
    try:
        database.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:
        # Its write-ahead log cannot be used where the folder cannot be written: then without it.
        database.close()
        return sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True)
    except sqlite3.DatabaseError:
        database.close()
        raise
    return database


def tables_of(file: File) -> set[str]:
    with opened(file) as database:
        return {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def columns_of(database: sqlite3.Connection, table: str) -> list[str]:
    return list(types_of(database, table))


def types_of(database: sqlite3.Connection, table: str) -> dict[str, str]:
    """By column; none for a view of that name, which may be anything."""
    found = database.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
    if found.fetchone() is None:
        return {}
    return {row[1]: row[2] for row in database.execute(f'PRAGMA table_info("{table}")')}


def rows_of(
    database: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    order: str,
    *,
    where: str = "",
    values: Sequence[Any] = (),
) -> Iterator[dict[str, Any]]:
    """Column names were found in the database; `where` and `order` are our own words."""
    names = ", ".join(f'"{name}"' for name in columns)
    sql = f'SELECT {names} FROM "{table}" {where} ORDER BY {order}'  # noqa: S608 - see above
    for row in database.execute(sql, values):
        yield {name: _plain(value) for name, value in zip(columns, row, strict=True)}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value
