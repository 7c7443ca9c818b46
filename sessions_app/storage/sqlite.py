import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache, partial, reduce
from operator import or_
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Q

from sessions_app.access import Proof
from sessions_app.entries import Entry
from sessions_app.storage.statements import FOUND, RETURNING, Reading, Stored, found_row, moves, session_row
from sessions_app.storage.watching import is_watched, watched_rows

# One parameter each, in the order of `Moves`; times compare as text because all have one form. A first user
# message may carry an earlier time than the session: it is the only one that can bring the reset forward.
ADVANCE = f"""
UPDATE sessions_app_session SET
  last_seq = last_seq + %s, messages_count = messages_count + %s, tool_calls_count = tool_calls_count + %s,
  errors_count = errors_count + %s, decisions_count = decisions_count + %s,
  unconsolidated_tokens = unconsolidated_tokens + %s,
  first_at = MIN(COALESCE(first_at, '9999'), %s), last_at = MAX(COALESCE(last_at, ''), %s),
  active_at = NULLIF(MAX(COALESCE(active_at, ''), %s), ''), updated_at = MAX(updated_at, %s),
  reset_check_at = CASE WHEN active_at IS NULL AND reset_check_at IS NOT NULL
    THEN MIN(reset_check_at, COALESCE(%s, reset_check_at)) ELSE reset_check_at END,
  consolidate_check_at = CASE
    WHEN consolidate_check_at IS NULL THEN %s
    WHEN unconsolidated_tokens + %s > (SELECT token_budget FROM sessions_app_agent WHERE id = agent_id)
    THEN MIN(consolidate_check_at, %s) ELSE consolidate_check_at END
WHERE uid = %s AND agent_id = %s AND ended_at IS NULL
RETURNING {RETURNING}
"""  # noqa: S608 - column names of our own

FIND = f"SELECT {FOUND} FROM sessions_app_session WHERE uid = %s AND agent_id = %s"  # noqa: S608 - column names of our own

INSERT = """
INSERT INTO sessions_app_message
  (agent_id, session_id, seq, kind, role, body, extra, plain, tokens, created_at, hidden_by)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, '')
"""


# The concatenation keeps the driver from parsing times that most windows never show.
NEWEST = """
SELECT seq, role, plain, tokens, body, extra, created_at || '' FROM sessions_app_message
WHERE session_id = %s AND seq < %s AND kind = 'message' AND hidden_by = ''
ORDER BY seq DESC LIMIT %s
"""


# As `_make` of a named tuple, without its check of the length.
_stored = partial(tuple.__new__, Stored)


class SqliteStorage:
    def rows(self, statement: str, parameters: Sequence[Any]) -> list[Any]:
        database = connections[DEFAULT_DB_ALIAS]
        if is_watched(database):
            return watched_rows(database, statement, parameters)
        database.ensure_connection()
        with database.wrap_database_errors:
            # The driver keeps the statements that it has prepared.
            found: list[Any] = database.connection.execute(_own_marks(statement), parameters).fetchall()
        return found

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        database = connections[DEFAULT_DB_ALIAS]
        if database.in_atomic_block:
            yield
            return
        database.ensure_connection()
        # Past Django, whose transactions are those of writers.
        database.connection.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            database.connection.rollback()

    def size(self) -> int:
        """Bytes of the database on disk."""
        name = Path(str(connections[DEFAULT_DB_ALIAS].settings_dict["NAME"]))
        files = (name, name.with_name(f"{name.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def versions(self, *tables: str) -> str:
        return "''"

    def session(
        self, agent_id: int, uid: UUID, read: Reading, proof: Proof | None
    ) -> tuple[dict[str, Any], list[Stored]] | None:
        rows = self.rows(FIND, (uid.hex, agent_id))
        if not rows:
            return None
        session = found_row(rows[0])
        return session, self.newest(session["id"], session["last_seq"] + 1, read.limit(session))

    def newest(self, session_pk: int, below: int, limit: int) -> list[Stored]:
        return list(map(_stored, self.rows(NEWEST, (session_pk, below, limit))))

    def append(
        self, agent_id: int, uid: UUID, entries: Sequence[Entry], now: datetime, proof: Proof | None
    ) -> dict[str, Any] | None:
        counted = moves(entries)
        active_at = _text(counted.active_at) if counted.active_at else None
        times = (_text(counted.first_at), _text(counted.last_at), active_at or "", _text(now), active_at)
        looks = (_text(now), counted.tokens, _text(now))
        session = session_row(self.rows(ADVANCE, (*counted[:6], *times, *looks, uid.hex, agent_id)))
        if session is not None:
            first = session["last_seq"] - len(entries) + 1
            self._insert(
                [
                    (agent_id, session["id"], seq, *entry[:6], _text(entry.created_at))
                    for seq, entry in enumerate(entries, first)
                ]
            )
        return session

    def _insert(self, rows: Sequence[tuple[Any, ...]]) -> None:
        database = connections[DEFAULT_DB_ALIAS]
        with database.wrap_database_errors:
            database.connection.executemany(_own_marks(INSERT), rows)

    def containing(self, text: str, *fields: str) -> Q:
        # LIKE knows no case but that of ASCII; Django brings Python's expressions along.
        pattern = re.escape(text)
        return reduce(or_, (Q((f"{field}__iregex", pattern)) for field in fields))


@lru_cache(maxsize=64)
def _own_marks(statement: str) -> str:
    return statement.replace("%s", "?")


def _text(value: datetime) -> str:
    """As Django stores it, always with microseconds: texts of one length compare like the times."""
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


storage = SqliteStorage()
