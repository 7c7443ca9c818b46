"""What both back ends share: the columns, and how one append moves a session's counters."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sessions_app.entries import Entry

SESSION_COLUMNS = (
    "id", "uid", "key", "title", "platform", "chat_type", "source", "metadata", "created_at", "updated_at",
    "active_at", "ended_at", "end_reason", "previous_id", "forked_from_id", "leased_until", "was_auto_reset",
    "reset_reason", "last_seq", "messages_count", "tool_calls_count", "errors_count", "decisions_count",
    "input_tokens", "output_tokens", "cost_usd", "consolidated_through", "unconsolidated_tokens",
    "imported_through", "last_at",
)  # fmt: skip

JSON_COLUMNS = ("source", "metadata")
# JSON stays text: it is answered as it lies there.
RETURNING = ", ".join(
    f'CAST("{column}" AS text)' if column in JSON_COLUMNS else f'"{column}"' for column in SESSION_COLUMNS
)
FOUND_COLUMNS = (*SESSION_COLUMNS, "summary", "carried")
FOUND = f"{RETURNING}, summary, carried"


class Stored(NamedTuple):
    """One visible message as it lies in the table."""

    seq: int
    role: str
    plain: bool
    tokens: int
    body: str
    extra: str | None
    created_at: datetime | str


class Reading(NamedTuple):
    """How many of the newest messages: those that are not consolidated and so many beyond them."""

    beyond: int
    least: int
    most: int

    def limit(self, session: Mapping[str, Any]) -> int:
        unconsolidated: int = session["last_seq"] - session["consolidated_through"]
        return max(min(unconsolidated + self.beyond, self.most), self.least)


class Moves(NamedTuple):
    """By how much one append moves the counters and times of its session."""

    total: int
    messages: int
    tool_calls: int
    errors: int
    decisions: int
    tokens: int
    first_at: datetime
    last_at: datetime
    active_at: datetime | None


def moves(entries: Sequence[Entry]) -> Moves:
    kinds = [entry.kind for entry in entries]
    times = [entry.created_at for entry in entries]
    user_times = [entry.created_at for entry in entries if entry.role == "user"]
    return Moves(
        len(kinds),
        kinds.count("message"),
        kinds.count("tool_call"),
        kinds.count("error"),
        kinds.count("decision"),
        sum(entry.tokens for entry in entries),
        min(times),
        max(times),
        max(user_times, default=None),
    )


def found_row(row: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(FOUND_COLUMNS, row, strict=True))


def session_row(rows: Sequence[Any]) -> dict[str, Any] | None:
    return dict(zip(SESSION_COLUMNS, rows[0], strict=True)) if rows else None
