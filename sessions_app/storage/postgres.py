from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache, partial, reduce
from operator import or_
from typing import Any
from uuid import UUID

import orjson
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import Q

from sessions_app.access import Proof
from sessions_app.entries import Entry
from sessions_app.storage import prepared, round_trips
from sessions_app.storage.statements import (
    FOUND,
    RETURNING,
    Reading,
    Stored,
    found_row,
    moves,
    session_row,
)
from sessions_app.storage.watching import is_watched, watched_rows

# One statement, one round trip: the session's row is the line in which its writers wait. A first user message
# may carry an earlier time than the session: it is the only one that can bring the reset forward.
APPEND = f"""
WITH advanced AS (
  UPDATE sessions_app_session SET
    last_seq = last_seq + %s, messages_count = messages_count + %s, tool_calls_count = tool_calls_count + %s,
    errors_count = errors_count + %s, decisions_count = decisions_count + %s,
    unconsolidated_tokens = unconsolidated_tokens + %s,
    first_at = LEAST(first_at, %s), last_at = GREATEST(last_at, %s),
    active_at = GREATEST(active_at, %s), updated_at = GREATEST(updated_at, %s),
    reset_check_at = CASE WHEN active_at IS NULL AND reset_check_at IS NOT NULL
      THEN LEAST(reset_check_at, %s) ELSE reset_check_at END,
    consolidate_check_at = CASE
      WHEN consolidate_check_at IS NULL THEN %s
      WHEN unconsolidated_tokens + %s > (SELECT token_budget FROM sessions_app_agent WHERE id = agent_id)
      THEN LEAST(consolidate_check_at, %s) ELSE consolidate_check_at END
  WHERE uid = %s AND agent_id = %s AND ended_at IS NULL {{proof}}
  RETURNING *
), stored AS (
  INSERT INTO sessions_app_message
    (agent_id, session_id, seq, kind, role, body, extra, plain, tokens, created_at, hidden_by)
  {{entries}}
)
SELECT {RETURNING} FROM advanced
"""  # noqa: S608 - column names of our own

ONE = """SELECT advanced.agent_id, advanced.id, advanced.last_seq,
    %s::text, %s::text, %s::text, %s::text, %s::bool, %s::int, %s::timestamptz, '' FROM advanced"""
# Lists take the driver longer to write than all the rest of an append.
MANY = """SELECT advanced.agent_id, advanced.id,
    advanced.last_seq - CARDINALITY(given.kinds) + entry.place, entry.kind, entry.role,
    entry.body, entry.extra, entry.plain, entry.tokens, entry.created_at, ''
  FROM advanced,
    (SELECT %s::text[], %s::text[], %s::text[], %s::text[], %s::bool[], %s::int[], %s::timestamptz[])
      AS given(kinds, roles, bodies, extras, plains, tokens, times),
    UNNEST(kinds, roles, bodies, extras, plains, given.tokens, times)
      WITH ORDINALITY AS entry(kind, role, body, extra, plain, tokens, created_at, place)"""


NEWEST = """
SELECT seq, role, plain, tokens, body, extra, created_at FROM sessions_app_message
WHERE session_id = %s AND seq < %s AND kind = 'message' AND hidden_by = ''
ORDER BY seq DESC LIMIT %s
"""


# Both in one round trip: first the session, as one text, with nothing beside it, then its messages. As
# columns of its own it would stand as NULLs beside each of them.
FIND = f"""
WITH session AS (
  SELECT *, GREATEST(LEAST(last_seq - consolidated_through + %s, %s), %s) AS read_most
  FROM sessions_app_session WHERE uid = %s AND agent_id = %s{{proof}}
), newest AS (
  SELECT seq, role, plain, tokens, body, extra, created_at FROM sessions_app_message
  WHERE session_id = (SELECT id FROM session) AND kind = 'message' AND hidden_by = ''
  ORDER BY seq DESC LIMIT (SELECT read_most FROM session)
)
SELECT NULL, NULL, NULL, NULL, json_build_array({FOUND})::text, NULL, NULL FROM session
UNION ALL SELECT newest.* FROM newest
"""  # noqa: S608 - column names of our own


TIMES = ("created_at", "updated_at", "active_at", "ended_at", "leased_until", "last_at")
UIDS = ("uid", "previous_id", "forked_from_id")
# As `_make` of a named tuple, without its check of the length.
_stored = partial(tuple.__new__, Stored)


class PostgresStorage:
    def rows(self, statement: str, parameters: Sequence[Any]) -> list[Any]:
        database = connections[DEFAULT_DB_ALIAS]
        if is_watched(database):
            return watched_rows(database, statement, parameters)
        database.ensure_connection()
        with database.wrap_database_errors:
            return prepared.rows(database.connection, statement, parameters)

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        database = connections[DEFAULT_DB_ALIAS]
        if database.in_atomic_block:
            yield
            return
        with transaction.atomic(), database.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield

    def _shared(
        self, trips: round_trips.RoundTrips, statement: str, parameters: Sequence[Any], row: UUID
    ) -> list[Any]:
        """Outside of a transaction, and where nobody watches, in a round trip with others."""
        database = connections[DEFAULT_DB_ALIAS]
        has_pool = bool(database.settings_dict["OPTIONS"].get("pool"))
        if not has_pool or database.in_atomic_block or is_watched(database):
            return self.rows(statement, parameters)
        return trips.rows(statement, parameters, row)

    def size(self) -> int:
        """Bytes of the database on disk."""
        return int(self.rows("SELECT pg_database_size(current_database())", ())[0][0])

    def versions(self, *tables: str) -> str:
        # The transaction that wrote a row, and where the row lies.
        return " || ' ' || ".join(f"{table}.xmin::text || {table}.ctid::text" for table in tables)

    def session(
        self, agent_id: int, uid: UUID, read: Reading, proof: Proof | None
    ) -> tuple[dict[str, Any], list[Stored]] | None:
        condition, proven = _also(proof)
        wanted = (read.beyond, read.most, read.least, uid, agent_id, *proven)
        rows = self._shared(round_trips.reads, _with_proof(FIND, condition), wanted, uid)
        if not rows:
            return None
        (_, _, _, _, session, _, _), *newest = rows
        return _session_in(session), list(map(_stored, newest))

    def newest(self, session_pk: int, below: int, limit: int) -> list[Stored]:
        return list(map(_stored, self.rows(NEWEST, (session_pk, below, limit))))

    def append(
        self, agent_id: int, uid: UUID, entries: Sequence[Entry], now: datetime, proof: Proof | None
    ) -> dict[str, Any] | None:
        moved = moves(entries)
        condition, proven = _also(proof)
        looks = (now, moved.tokens, now)
        where = (*moved, now, moved.active_at, *looks, uid, agent_id, *proven)
        if len(entries) == 1:
            return session_row(
                self._shared(round_trips.writes, _append(ONE, condition), (*where, *entries[0]), uid)
            )
        columns = [list(column) for column in zip(*entries, strict=True)]
        return session_row(self.rows(_append(MANY, condition), (*where, *columns)))

    def containing(self, text: str, *fields: str) -> Q:
        return reduce(or_, (Q((f"{field}__icontains", text)) for field in fields))


def _session_in(text: str) -> dict[str, Any]:
    """The types that JSON does not know come back as the driver would have read them."""
    session = found_row(orjson.loads(text))
    for column in TIMES:
        if session[column] is not None:
            session[column] = datetime.fromisoformat(session[column])
    for column in UIDS:
        if session[column] is not None:
            session[column] = UUID(session[column])
    return session


def _also(proof: Proof | None) -> tuple[str, tuple[Any, ...]]:
    return (f" AND {proof.condition}", proof.parameters) if proof else ("", ())


@lru_cache(maxsize=8)
def _append(entries: str, proof: str) -> str:
    return APPEND.format(entries=entries, proof=proof)


@lru_cache(maxsize=8)
def _with_proof(statement: str, proof: str) -> str:
    return statement.format(proof=proof)


storage = PostgresStorage()
