"""From what a request says to what is looked for, within one agent."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sessions_app import sessions
from sessions_app.access import Caller
from sessions_app.problems import invalid
from sessions_app.search.filters import Filters
from sessions_app.search.hits import BY_MEANING, Asked
from sessions_app.search.periods import moment_of
from sessions_app.sessions import UID


def asked_of(caller: Caller, query: Any, now: datetime) -> Asked:
    """Of a `SearchQuery`."""
    if query.sort == "newest" and query.mode in BY_MEANING:
        raise invalid(["query", "sort"], "Search by meaning has the order rank.", "value_error")
    filters = Filters(
        role=query.role,
        kind=query.kind,
        platform=query.platform,
        tool=query.tool,
        sessions=_sessions(caller, query.session, query.key),
        since=_moment(caller, "since", query.since, now),
        until=_moment(caller, "until", query.until, now),
        exclude_platforms=frozenset(_named(query.exclude_platform)),
        exclude_sessions=_numbers(caller, _named(query.exclude_session)),
        include_hidden=query.include_hidden,
    )
    return Asked(query.q, query.mode, filters, query.sort, query.limit, query.cursor, query.context)


def _sessions(caller: Caller, session: str | None, key: str | None) -> frozenset[int] | None:
    """Another agent's session is one that does not exist: nothing is found in it."""
    if session is None and key is None:
        return None
    found = None if session is None else _numbers(caller, [session])
    if key is None:
        return found
    of_key = frozenset(sessions.of(caller).filter(key=key).values_list("pk", flat=True))
    return of_key if found is None else of_key & found


def _numbers(caller: Caller, uids: Sequence[str]) -> frozenset[int]:
    known = [uid for uid in uids if UID.match(uid)]
    return (
        frozenset(sessions.of(caller).filter(uid__in=known).values_list("pk", flat=True))
        if known
        else frozenset()
    )


def _named(given: Sequence[str]) -> list[str]:
    return [name for text in given for name in text.split(",") if name]


def _moment(caller: Caller, name: str, given: str | None, now: datetime) -> datetime | None:
    if given is None:
        return None
    try:
        return moment_of(given, now, caller.zone)
    except ValueError:
        raise invalid(
            ["query", name],
            "It must be a time in ISO 8601, or how long ago: 24h, 7d, 2w.",
            "datetime_parsing",
        ) from None
