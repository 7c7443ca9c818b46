"""Messages that may be found, newest first: the pending ones, and those of the index, in one stream.

What is pending is read before the list of segments is: a message that moves from one to the other meanwhile
is seen twice, and shown once.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet

from sessions_app.models import Message, SearchSegment
from sessions_app.objects import MESSAGE_COLUMNS, utc
from sessions_app.search.candidates import Finder
from sessions_app.search.filters import Filters
from sessions_app.search.indexing import pending_sessions
from sessions_app.search.postings import Mask, Places
from sessions_app.search.query import Document, Query
from sessions_app.search.segments import Segment, load, microseconds, moment
from sessions_app.search.text import searched_text, tools_in
from sessions_app.storage import storage

COLUMNS = ("pk", "session_id", *MESSAGE_COLUMNS, "session__uid", "session__key", "session__platform")
# Read by the sessions they are in; more than that by time, as far as needed.
SHORT_TAIL = 2_000
AT_ONCE = 256
FIRST_LOOK = 32
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


@dataclass
class Looked:
    """How many messages the filters let through, and of which time."""

    messages: int = 0
    first_at: int | None = None
    last_at: int | None = None

    def add(self, count: int, first_at: int, last_at: int) -> None:
        self.messages += count
        self.first_at = first_at if self.first_at is None else min(first_at, self.first_at)
        self.last_at = last_at if self.last_at is None else max(last_at, self.last_at)


@dataclass
class Tail:
    """The sessions of an agent with messages that the index does not have yet, as they were at one moment."""

    agent_id: int
    through: dict[int, int] = field(default_factory=dict)
    count: int = 0

    @classmethod
    def of(cls, agent_id: int) -> "Tail":
        tail = cls(agent_id)
        rows = pending_sessions().filter(agent_id=agent_id)
        for pk, through, last in rows.values_list("pk", "searched_through", "last_seq"):
            tail.through[pk] = through
            tail.count += last - through
        return tail

    def newest_first(self, below: Place | None) -> Iterator[Found]:
        if self.count <= SHORT_TAIL:
            found = sorted(self._short(), key=lambda one: one.place, reverse=True)
            yield from (one for one in found if below is None or one.place < below)
        else:
            yield from self._by_time(below)

    def _short(self) -> Iterator[Found]:
        sessions = list(self.through)
        for start in range(0, len(sessions), AT_ONCE):
            behind = Q()
            for pk in sessions[start : start + AT_ONCE]:
                behind |= Q(session_id=pk, seq__gt=self.through[pk])
            yield from map(Found, _rows(self.agent_id).filter(behind).values(*COLUMNS))

    def _by_time(self, below: Place | None) -> Iterator[Found]:
        """Of all messages, newest first, those that are pending."""
        left = self.count
        while left > 0:
            rows = _rows(self.agent_id)
            if below is not None:
                at = moment(below[0])
                rows = rows.filter(
                    Q(created_at__lt=at) | Q(created_at=at, pk__lt=below[1]), created_at__lte=at
                )
            batch = [Found(row) for row in rows.order_by("-created_at", "-pk").values(*COLUMNS)[:AT_ONCE]]
            if not batch:
                return
            below = batch[-1].place
            for one in batch:
                if one.row["seq"] > self.through.get(one.row["session_id"], one.row["seq"]):
                    left -= 1
                    yield one


class Reader:
    """One search of one agent."""

    def __init__(
        self, agent_id: int, query: Query | None, filters: Filters, below: Place | None = None
    ) -> None:
        self._agent_id = agent_id
        self._query = query
        self._filters = filters
        self._below = below

    def searched(self) -> Looked:
        """What there was to look at: told where nothing was found."""
        looked = Looked()
        for one in Tail.of(self._agent_id).newest_first(None):
            if one.passes(self._filters):
                looked.add(1, one.place[0], one.place[0])
        segments = self._segments()
        for segment, mask in zip(segments, Finder(None, self._filters).masks(segments), strict=True):
            begin, end = self._period(segment)
            places = np.flatnonzero(mask[begin:end]) + begin
            if len(places):
                looked.add(len(places), int(segment.times[places[0]]), int(segment.times[places[-1]]))
        return looked

    def allowed(self) -> Places:
        """The numbers of the messages in the index that the filters may let through."""
        segments = self._segments()
        found = [
            segment.messages[slice(*self._period(segment))][mask[slice(*self._period(segment))]]
            for segment, mask in zip(segments, Finder(None, self._filters).masks(segments), strict=True)
        ]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def newest_first(self) -> Iterator[Found]:
        """Every message that has what was asked for. Sources are opened when their time comes."""
        tail = Tail.of(self._agent_id)
        seen: set[int] = set()
        for one in self._merged(tail, self._segments()):
            if one.row["pk"] not in seen:
                seen.add(one.row["pk"])
                yield one

    def _segments(self) -> list[Segment]:
        live = SearchSegment.objects.filter(agent_id=self._agent_id, live=True)
        if self._filters.since is not None:
            live = live.filter(last_at__gte=self._filters.since)
        if self._filters.until is not None:
            live = live.filter(first_at__lt=self._filters.until)
        if self._below is not None:
            live = live.filter(first_at__lte=moment(self._below[0]))
        return load(list(live.order_by("-last_at").values_list("pk", flat=True)))

    def _merged(self, tail: Tail, segments: Sequence[Segment]) -> Iterator[Found]:
        # Newest first: a heap of (time of the next, a number to tell them apart, the message, the rest).
        heap: list[tuple[int, int, int, Found, Iterator[Found]]] = []
        if tail.count:
            _push(heap, self._pending(tail))
        waiting = list(segments)
        finder, wave = Finder(self._query, self._filters), 1
        while heap or waiting:
            while waiting and (not heap or -heap[0][0] <= waiting[0].last_at):
                opened, waiting = waiting[:wave], waiting[wave:]
                for segment, mask in zip(opened, finder.masks(opened), strict=True):
                    _push(heap, self._indexed(segment, mask))
                wave *= 2
            if heap:
                _, _, _, one, rest = heapq.heappop(heap)
                yield one
                _push(heap, rest)

    def _pending(self, tail: Tail) -> Iterator[Found]:
        for one in tail.newest_first(self._below):
            if self._has(one):
                yield one

    def _indexed(self, segment: Segment, mask: Mask) -> Iterator[Found]:
        begin, end = self._period(segment)
        places = np.flatnonzero(mask[begin:end])[::-1] + begin
        start, most = 0, FIRST_LOOK
        while start < len(places):
            chosen = segment.messages[places[start : start + most]].tolist()
            start, most = start + most, AT_ONCE
            rows = messages_by_number(self._agent_id, chosen)
            yield from (rows[pk] for pk in chosen if pk in rows and self._has(rows[pk]))

    def _has(self, one: Found) -> bool:
        return (
            (self._below is None or one.place < self._below)
            and one.passes(self._filters)
            and (self._query is None or self._query.is_in(one.document))
        )

    def _period(self, segment: Segment) -> tuple[int, int]:
        filters = self._filters
        begin = _first(segment, filters.since) if filters.since else 0
        end = _first(segment, filters.until) if filters.until else segment.count
        if self._below is not None:
            end = min(end, int(np.searchsorted(segment.times, self._below[0], side="right")))
        return begin, end


def messages_by_number(agent_id: int, numbers: Sequence[int]) -> dict[int, Found]:
    # As many marks as the next power of two: few statements to prepare, whatever is asked.
    padded = [*numbers, *[numbers[-1]] * ((1 << (len(numbers) - 1).bit_length()) - len(numbers))]
    rows = storage().rows(BY_NUMBER.format(marks=", ".join(["%s"] * len(padded))), (*padded, agent_id))
    return {row[0]: Found(dict(zip(COLUMNS, row, strict=True))) for row in rows}


def _push(heap: list[Any], source: Iterator[Found]) -> None:
    one = next(source, None)
    if one is not None:
        heapq.heappush(heap, (-one.place[0], -one.place[1], id(source), one, source))


def _first(segment: Segment, at: datetime) -> int:
    return int(np.searchsorted(segment.times, microseconds(at), side="left"))


def _rows(agent_id: int) -> QuerySet[Message]:
    return Message.objects.filter(agent_id=agent_id)
