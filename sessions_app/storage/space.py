"""Space that deleted rows leave: back to the disk, and nothing of them left behind."""

import time

from django.db import connection

from sessions_app.commits import commit

PAGES = 1_000
TABLES = ("sessions_app_message", "sessions_app_session", "sessions_app_importedrecord")


def give_back(deadline: float) -> None:
    """In short steps until the deadline (of the monotonic clock); what is left comes next time."""
    if connection.in_atomic_block:
        return
    if connection.vendor == "sqlite":
        while time.monotonic() < deadline and commit(_some_pages):
            pass
        forget_log()
    else:
        _vacuum()


def forget_log() -> None:
    """SQLite: the write-ahead log still has pages as they were; written back, it is cut to nothing."""
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _some_pages() -> bool:
    with connection.cursor() as cursor:
        before = _free_pages(cursor)
        cursor.execute(f"PRAGMA incremental_vacuum({PAGES})").fetchall()
        return 0 < _free_pages(cursor) < before


def _free_pages(cursor: object) -> int:
    found: int = cursor.execute("PRAGMA freelist_count").fetchone()[0]  # type: ignore[attr-defined]
    return found


def _vacuum() -> None:
    """PostgreSQL: rows that are gone make room for new ones; empty pages at the end go back to the disk."""
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"VACUUM {table}")
