from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Q

from sessions_app.entries import Entry
from sessions_app.storage.statements import FIND, RETURNING, Stored, found_row, moves, session_row
from sessions_app.storage.watching import is_watched, watched_rows

# One statement, one round trip: the session's row is the line in which its writers wait. A first user message
# may carry an earlier time than the session: it is the only one that can bring the reset forward.
APPEND = f"""
WITH advanced AS (
  UPDATE sessions_app_session SET
    last_seq = last_seq + %s, messages_count = messages_count + %s, tool_calls_count = tool_calls_count + %s,
    errors_count = errors_count + %s, decisions_count = decisions_count + %s,
    first_at = LEAST(first_at, %s), last_at = GREATEST(last_at, %s),
    active_at = GREATEST(active_at, %s), updated_at = GREATEST(updated_at, %s),
    reset_check_at = CASE WHEN active_at IS NULL AND reset_check_at IS NOT NULL
      THEN LEAST(reset_check_at, %s) ELSE reset_check_at END
  WHERE uid = %s AND agent_id = %s AND ended_at IS NULL
  RETURNING *
), stored AS (
  INSERT INTO sessions_app_message
    (agent_id, session_id, seq, kind, role, body, extra, plain, tokens, created_at, hidden_by)
  SELECT %s, advanced.id, advanced.last_seq - %s + entry.place, entry.kind, entry.role, entry.body,
    entry.extra, entry.plain, entry.tokens, entry.created_at, ''
  FROM advanced, UNNEST(
      %s::text[], %s::text[], %s::text[], %s::text[], %s::bool[], %s::int[], %s::timestamptz[]
    ) WITH ORDINALITY AS entry(kind, role, body, extra, plain, tokens, created_at, place)
)
SELECT {RETURNING} FROM advanced
"""  # noqa: S608 - column names of our own


NEWEST = """
SELECT seq, role, plain, tokens, body, extra, created_at FROM sessions_app_message
WHERE session_id = %s AND seq < %s AND kind = 'message' AND hidden_by = ''
ORDER BY seq DESC LIMIT %s
"""


class PostgresStorage:
    def rows(self, statement: str, parameters: Sequence[Any]) -> list[Any]:
        database = connections[DEFAULT_DB_ALIAS]
        if is_watched(database):
            return watched_rows(database, statement, parameters)
        database.ensure_connection()
        with database.wrap_database_errors:
            # Django's cursor binds on our side, where nothing can be prepared, and reads every time as text.
            cursor: psycopg.Cursor[Any] = psycopg.Cursor(database.connection)
            return cursor.execute(statement, parameters, prepare=True, binary=True).fetchall()

    def size(self) -> int:
        """Bytes of the database on disk."""
        return int(self.rows("SELECT pg_database_size(current_database())", ())[0][0])

    def session(self, agent_id: int, uid: UUID) -> dict[str, Any] | None:
        return found_row(self.rows(FIND, (uid, agent_id)))

    def newest(self, session_pk: int, below: int, limit: int) -> list[Stored]:
        return [Stored._make(row) for row in self.rows(NEWEST, (session_pk, below, limit))]

    def append(
        self, agent_id: int, uid: UUID, entries: Sequence[Entry], now: datetime
    ) -> dict[str, Any] | None:
        moved = moves(entries)
        columns = [list(column) for column in zip(*entries, strict=True)]
        parameters = (*moved, now, moved.active_at, uid, agent_id, agent_id, len(entries), *columns)
        return session_row(self.rows(APPEND, parameters))

    def containing(self, text: str, *fields: str) -> Q:
        return reduce(or_, (Q((f"{field}__icontains", text)) for field in fields))


storage = PostgresStorage()
