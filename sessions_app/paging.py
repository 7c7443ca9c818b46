"""Cursors: where a page ended, so that rows which are added meanwhile move nothing."""

import base64
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson

from sessions_app.problems import Problem, invalid

LIMIT = 50
MOST = 500

Page = dict[str, Any]


def encode(*parts: str | int) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(parts)).decode().rstrip("=")


def decode(cursor: str, *kinds: Callable[[Any], Any]) -> list[Any]:
    """The parts of a cursor, each made by its kind; whatever we did not hand out is refused."""
    try:
        parts = orjson.loads(
            base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        )
        return [kind(part) for kind, part in zip(kinds, parts, strict=True)]
    except (ValueError, TypeError, KeyError, OverflowError):
        raise refused() from None


def refused() -> Problem:
    return invalid(["query", "cursor"], "It is not a cursor that this list has given out.", "cursor")


def seq(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ValueError(value)
    return value


def moment(value: Any) -> datetime:
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError(value)
    return found.astimezone(UTC)


def uid(value: Any) -> UUID:
    if not isinstance(value, str):
        raise TypeError(value)
    return UUID(value)


def page(
    rows: Sequence[Any], limit: int, show: Callable[[Sequence[Any]], list[Any]], cursor: Callable[[Any], str]
) -> Page:
    """Of one row more than the limit, which tells whether there is a next page."""
    shown = rows[:limit]
    more = len(rows) > limit
    return {"items": show(shown), "next_cursor": cursor(shown[-1]) if more else None}
