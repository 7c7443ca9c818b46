"""Messages that the index does not have yet, newest first: told by the sessions' own marks."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import F

from sessions_app.models import Session
from sessions_app.search.rows import Found, messages_by_number
from sessions_app.storage import storage

AT_ONCE = 256
# One statement sees marks and messages as they were at one moment.
NUMBERS = """
SELECT m.id FROM sessions_app_session s
JOIN sessions_app_message m ON m.session_id = s.id AND m.seq > s.searched_through
WHERE s.agent_id = %s AND s.last_seq > s.searched_through
ORDER BY m.created_at DESC, m.id DESC
"""
# As the condition of its index stands.
HIDDEN = "SELECT id FROM sessions_app_message WHERE agent_id = %s AND NOT hidden_by = ''"


def pending_sessions() -> Any:
    return Session.objects.filter(last_seq__gt=F("searched_through"))


def pending_numbers(agent_id: int) -> list[int]:
    return [number for (number,) in storage().rows(NUMBERS, (agent_id,))]


def hidden_numbers(agent_id: int) -> list[int]:
    """What clear, retain and rewind have hidden, and what was erased."""
    return [number for (number,) in storage().rows(HIDDEN, (agent_id,))]


def messages_of(agent_id: int, numbers: Sequence[int]) -> Iterator[Found]:
    """In the order of their numbers given; what was erased meanwhile is left out."""
    for start in range(0, len(numbers), AT_ONCE):
        chosen = numbers[start : start + AT_ONCE]
        rows = messages_by_number(agent_id, chosen)
        yield from (rows[number] for number in chosen if number in rows)
