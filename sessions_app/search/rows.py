"""A message as a search reads it, and the statement that reads many by their numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from sessions_app.objects import MESSAGE_COLUMNS, utc
from sessions_app.search.filters import Filters
from sessions_app.search.query import Document
from sessions_app.search.segments import microseconds
from sessions_app.search.text import searched_text, tools_in
from sessions_app.storage import storage

COLUMNS = ("pk", "session_id", *MESSAGE_COLUMNS, "session__uid", "session__key", "session__platform")
# By hand, as all that is read by the hundred: the ORM takes longer than the database.
BY_NUMBER = """
SELECT m.id, m.session_id, m.seq, m.kind, m.role, m.body, m.extra, m.created_at, m.hidden_by, s.uid, s.key,
  s.platform
FROM sessions_app_message m JOIN sessions_app_session s ON s.id = m.session_id
WHERE m.id IN ({marks}) AND m.agent_id = %s
"""

Place = tuple[int, int]


@dataclass(frozen=True)
class Found:
    """A message that was read; newest first is by `place`."""

    row: dict[str, Any]

    @cached_property
    def place(self) -> Place:
        return microseconds(utc(self.row["created_at"])), self.row["pk"]

    @cached_property
    def document(self) -> Document:
        return Document(searched_text(self.row["body"]))

    def passes(self, filters: Filters) -> bool:
        row = self.row
        at: datetime = utc(row["created_at"])
        return (
            (filters.include_hidden or not row["hidden_by"])
            and filters.role in (None, row["role"])
            and filters.kind in (None, row["kind"])
            and filters.platform in (None, row["session__platform"])
            and (filters.sessions is None or row["session_id"] in filters.sessions)
            and (filters.since is None or at >= filters.since)
            and (filters.until is None or at < filters.until)
            and row["session__platform"] not in filters.exclude_platforms
            and row["session_id"] not in filters.exclude_sessions
            and (filters.tool is None or filters.tool in tools_in(row["body"]))
        )


def messages_by_number(agent_id: int, numbers: Sequence[int]) -> dict[int, Found]:
    # As many marks as the next power of two: few statements to prepare, whatever is asked.
    padded = [*numbers, *[numbers[-1]] * ((1 << (len(numbers) - 1).bit_length()) - len(numbers))]
    rows = storage().rows(BY_NUMBER.format(marks=", ".join(["%s"] * len(padded))), (*padded, agent_id))
    return {row[0]: Found(dict(zip(COLUMNS, row, strict=True))) for row in rows}
