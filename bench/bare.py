"""The same work without HTTP, by members of a crew: the product's own storage function, and the bare driver.

`python -m bench.bare STEP SESSIONS THREADS NUMBER SECONDS`, on the database that the environment names."""

import itertools
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import psycopg

from bench.corpus import Corpus
from bench.crew import Step, serve
from config.env import parse_database_url

CHARACTERS = 300
WINDOW = 50

ADVANCE = """UPDATE sessions_app_session
SET last_seq = last_seq + 1, messages_count = messages_count + 1, updated_at = {0}
WHERE uid = {0} AND ended_at IS NULL RETURNING id, agent_id, last_seq"""
INSERT = """INSERT INTO sessions_app_message
(agent_id, session_id, seq, kind, role, body, plain, tokens, created_at, hidden_by)
VALUES ({0}, {0}, {0}, 'message', 'user', {0}, {1}, 80, {0}, '')"""
APPEND_IN_ONE = f"""WITH advanced AS ({ADVANCE.format("%s")})
INSERT INTO sessions_app_message
(agent_id, session_id, seq, kind, role, body, plain, tokens, created_at, hidden_by)
SELECT agent_id, id, last_seq, 'message', 'user', %s, true, 80, %s, '' FROM advanced"""  # noqa: S608 - a statement of our own
SELECT = """SELECT seq, role, body, tokens FROM sessions_app_message
WHERE session_id = (SELECT id FROM sessions_app_session WHERE uid = {0})
AND kind = 'message' AND hidden_by = ''
ORDER BY seq DESC LIMIT {1}"""


def main(step: str, sessions: str, threads: str, number: str, seconds: str) -> None:
    uids = [UUID(uid) for uid in sessions.split(",")]
    make = STEPS[step]
    first = int(number) * int(threads)
    serve([make(_in_turn(uids, first + place)) for place in range(int(threads))], float(seconds))


def _in_turn(uids: Sequence[UUID], place: int) -> Callable[[], UUID]:
    turns = itertools.cycle([*uids[place % len(uids) :], *uids[: place % len(uids)]])
    return lambda: next(turns)


def _own_append(session: Callable[[], UUID]) -> Step:
    _set_up_django()
    from sessions_app.commits import commit
    from sessions_app.entries import entry
    from sessions_app.models import Agent
    from sessions_app.storage import storage

    agent = Agent.objects.get(name="main").pk
    message = {"role": "user", "content": Corpus(2).text(CHARACTERS)}

    def append() -> None:
        now = datetime.now(UTC)
        stored = entry(message, now=now, zone=ZoneInfo("UTC"))
        uid = session()
        commit(lambda: storage().append(agent, uid, [stored], now, None), one_statement=True)

    return append


def _raw_append(session: Callable[[], UUID]) -> Step:
    body = json.dumps({"role": "user", "content": Corpus(2).text(CHARACTERS)})
    if _is_sqlite():
        lite = _sqlite()

        def append_to_sqlite() -> None:
            now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
            lite.execute("BEGIN IMMEDIATE")
            row = lite.execute(ADVANCE.format("?"), (now, session().hex)).fetchone()
            lite.execute(INSERT.format("?", "1"), (row[1], row[0], row[2], body, now))
            lite.execute("COMMIT")

        return append_to_sqlite
    server = _postgres()

    def append_to_postgres() -> None:
        now = datetime.now(UTC)
        server.execute(APPEND_IN_ONE, (now, session(), body, now), prepare=True)

    return append_to_postgres


def _raw_window(session: Callable[[], UUID]) -> Step:
    if _is_sqlite():
        lite, in_sqlite = _sqlite(), SELECT.format("?", "?")
        return lambda: lite.execute(in_sqlite, (session().hex, WINDOW)).fetchall()
    server, in_postgres = _postgres(), SELECT.format("%s", "%s")
    return lambda: server.execute(in_postgres, (session(), WINDOW), prepare=True).fetchall()


def _is_sqlite() -> bool:
    return parse_database_url(os.environ["DATABASE_URL"]).vendor == "sqlite"


def _sqlite() -> sqlite3.Connection:
    """As durable as the product's own connections."""
    connection = sqlite3.connect(
        parse_database_url(os.environ["DATABASE_URL"]).name,
        timeout=30,
        isolation_level=None,
        check_same_thread=False,
    )
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-32000", "mmap_size=268435456"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _postgres() -> "psycopg.Connection[tuple[Any, ...]]":
    return psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)


def _set_up_django() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()


STEPS: dict[str, Callable[[Callable[[], UUID]], Step]] = {
    "own-append": _own_append,
    "raw-append": _raw_append,
    "raw-window": _raw_window,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
