"""Stores many messages at once, past the API, as the rows that the product itself would store.

`python -m bench.fill 1x100000 1000x1000` makes one session of 100 000 messages and 1 000 sessions of 1 000,
and prints their ids as JSON."""

import json
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import django

SEED = 1
TEXTS = 4_096
CHARACTERS = 300

COLUMNS = (
    "agent_id", "session_id", "seq", "kind", "role", "body", "extra", "plain", "tokens", "created_at",
    "hidden_by",
)  # fmt: skip


def main(specifications: list[str]) -> None:
    sizes = list(parse_sizes(specifications))
    begin = datetime.now(UTC) - timedelta(days=30)
    sessions = _store_sessions(sizes, begin)
    _store_messages(_rows(sessions, begin))
    json.dump([str(session.uid) for session in sessions], sys.stdout)


def parse_sizes(specifications: Iterable[str]) -> Iterator[int]:
    for specification in specifications:
        sessions, messages = specification.split("x")
        yield from [int(messages)] * int(sessions)


def _store_sessions(sizes: list[int], begin: datetime) -> list[Any]:
    from sessions_app.models import Agent, Session

    agent = Agent.objects.get(name="main")
    sessions = [
        Session(
            agent=agent,
            key=f"bench:filled:{number}",
            last_seq=size,
            messages_count=size,
            created_at=begin,
            updated_at=begin + timedelta(seconds=size),
            active_at=begin + timedelta(seconds=size),
            first_at=begin,
            last_at=begin + timedelta(seconds=size),
        )
        for number, size in enumerate(sizes)
    ]
    Session.objects.bulk_create(sessions, batch_size=500)
    return sessions


def _rows(sessions: list[Any], begin: datetime) -> Iterator[tuple[Any, ...]]:
    pool = _entries(begin)
    for session in sessions:
        for seq in range(1, session.last_seq + 1):
            entry = pool[(seq + session.id) * 2 % len(pool) + (seq + 1) % 2]
            created_at = begin + timedelta(seconds=seq)
            yield (session.agent_id, session.id, seq, *entry[:6], created_at, "")


def _entries(now: datetime) -> list[Any]:
    """User and assistant in turn, as the product itself makes them of what an agent sends."""
    from bench.corpus import Corpus
    from sessions_app.entries import entry

    return [
        entry({"role": role, "content": text}, now=now, zone=ZoneInfo("UTC"))
        for text in Corpus(SEED).texts(TEXTS, CHARACTERS)
        for role in ("user", "assistant")
    ]


def _store_messages(rows: Iterator[tuple[Any, ...]]) -> None:
    from django.db import connection

    connection.ensure_connection()
    if connection.vendor == "sqlite":
        _store_in_sqlite(connection.connection, rows)
    else:
        _store_in_postgres(connection.connection, rows)


def _store_in_sqlite(database: Any, rows: Iterator[tuple[Any, ...]]) -> None:
    marks = ", ".join("?" * len(COLUMNS))
    texts = ((*row[:9], row[9].strftime("%Y-%m-%d %H:%M:%S.%f"), row[10]) for row in rows)
    database.execute("BEGIN IMMEDIATE")
    database.executemany(
        f"INSERT INTO sessions_app_message ({', '.join(COLUMNS)}) VALUES ({marks})",  # noqa: S608 - column names of our own
        texts,
    )
    database.execute("COMMIT")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.execute("ANALYZE")


def _store_in_postgres(database: Any, rows: Iterator[tuple[Any, ...]]) -> None:
    database.autocommit = True
    with database.cursor().copy(f"COPY sessions_app_message ({', '.join(COLUMNS)}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    # What the server would do by and by: better now than in the middle of a measurement.
    database.execute("VACUUM ANALYZE")
    database.execute("CHECKPOINT")


if __name__ == "__main__":
    django.setup()
    main(sys.argv[1:])
