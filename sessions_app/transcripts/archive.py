"""Our own archive: JSON lines that hold everything of an agent, versioned. Others register what they keep.

{"daybook": 1, "agent": …}    the first line
{"session": …}                a session, all of its columns
{"message": …}                one of its entries
{"<name>": …}                 what a capability keeps, of the session before it or of the agent
{"end": …}                    the last line: an archive without it was cut off
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sessions_app.access import Caller
from sessions_app.models import Session

VERSION = 1
SESSION, MESSAGE, END = "session", "message", "end"
# Without what is made anew here: how far the index and the vectors have come.
SESSION_COLUMNS = (
    "key", "title", "platform", "chat_type", "source", "metadata", "created_at", "updated_at", "active_at",
    "ended_at", "end_reason", "end_decision", "reset_check_at", "was_auto_reset", "reset_reason",
    "reset_told", "input_tokens", "output_tokens", "cost_usd", "usage_by_model", "consolidated_through",
    "summary", "carried",
    "unconsolidated_tokens", "consolidate_check_at", "imported_through",
)  # fmt: skip
TIMES = ("created_at", "updated_at", "active_at", "ended_at", "reset_check_at", "consolidate_check_at")
AGENT_COLUMNS = ("timezone", "token_budget", "consolidate_after_minutes", "redaction")


@dataclass(frozen=True, slots=True)
class Part:
    """What one capability keeps of an agent or of a session, and how it gets it back.

    `load` is given what `dump` gave, inside `commit`; the same record a second time must add nothing.
    `sessions` maps the ids of the archive to sessions of here."""

    dump_agent: Callable[[Caller], Iterator[dict[str, Any]]] | None = None
    dump_session: Callable[[Session], Iterator[dict[str, Any]]] | None = None
    load: Callable[[Caller, dict[str, Any], Session | None, datetime], object] | None = None


parts: dict[str, Part] = {}


def register(name: str, part: Part) -> None:
    if name in (SESSION, MESSAGE, END, "daybook", "agent"):
        raise ValueError(f"{name} is a word of the archive itself")
    parts[name] = part
