"""A copy of the embedded database by SQLite's own means: writers go on meanwhile."""

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import connection

# A few at a time, with a moment in between: readers and writers of the server come first.
PAGES, PAUSE_SECONDS = 2_000, 0.01


class NoBackup(Exception):
    """Why there is none; the message says what to do instead."""


class Made(NamedTuple):
    path: Path
    pages: int


def make(path: Path, *, force: bool = False) -> Made:
    """Whole or not at all: the copy is checked before it has its name."""
    if connection.vendor != "sqlite":
        raise NoBackup("The database is PostgreSQL: use pg_dump, as the README says.")
    if path.is_dir():
        path = path / f"daybook-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.sqlite3"
    if path.exists() and not force:
        raise NoBackup(f"{path} is there already.")
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        pages = _copy(Path(settings.DATABASES["default"]["NAME"]), part)
        part.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise NoBackup(f"The copy could not be made: {error}.") from None
    finally:
        part.unlink(missing_ok=True)
    return Made(path, pages)


def _copy(source: Path, target: Path) -> int:
    # Nobody else reads what the agents were told.
    os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(source, timeout=30)) as live, closing(sqlite3.connect(target)) as copy:
        # One read transaction over the whole of it: else each writer would make it begin anew.
        live.execute("BEGIN")
        live.execute("SELECT count(*) FROM sqlite_master").fetchone()
        live.backup(copy, pages=PAGES, sleep=PAUSE_SECONDS)
        live.rollback()
        # The copy is one file, without a log beside it.
        copy.execute("PRAGMA journal_mode=DELETE").fetchone()
        verdict = copy.execute("PRAGMA integrity_check").fetchone()[0]
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
        pages: int = copy.execute("PRAGMA page_count").fetchone()[0]
    return pages
