"""Messages that may be found, newest first: the pending ones, and those of the index, in one stream.

What is pending is read before the list of segments is: a message that moves from one to the other meanwhile
is seen twice, and shown once.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

import numpy as np

from sessions_app.models import SearchSegment
from sessions_app.search.candidates import Finder
from sessions_app.search.filters import Filters
from sessions_app.search.pending import hidden_numbers, messages_of, pending_numbers
from sessions_app.search.postings import Mask, Places
from sessions_app.search.query import Query
from sessions_app.search.rows import Found, Place, messages_by_number
from sessions_app.search.segments import Segment, load, microseconds, moment

AT_ONCE = 256
FIRST_LOOK = 32


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
        looked, pending = Looked(), pending_numbers(self._agent_id)
        for one in messages_of(self._agent_id, pending):
            if one.passes(self._filters):
                looked.add(1, one.place[0], one.place[0])
        left_out = np.array(
            pending if self._filters.include_hidden else [*pending, *hidden_numbers(self._agent_id)], np.int64
        )
        for segment, allowed in self._allowed():
            places = allowed[~np.isin(segment.messages[allowed], left_out)] if len(left_out) else allowed
            if len(places):
                looked.add(len(places), int(segment.times[places[0]]), int(segment.times[places[-1]]))
        return looked

    def allowed(self) -> Places:
        """The numbers of the messages in the index that the filters may let through."""
        found = [segment.messages[places] for segment, places in self._allowed()]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def newest_first(self) -> Iterator[Found]:
        """Every message that has what was asked for. Sources are opened when their time comes."""
        pending = pending_numbers(self._agent_id)
        seen: set[int] = set()
        for one in self._merged(pending, self._segments()):
            if one.row["pk"] not in seen:
                seen.add(one.row["pk"])
                yield one

    def best(self, most: int) -> list[Found]:
        """Those that have the most of what was asked for, what is rare before what is frequent; of
        equals the newest. In the order of their times."""
        pending = self._pending(pending_numbers(self._agent_id))
        found = {one.row["pk"]: one for one in islice(pending, most)}
        chosen = self._weightiest(most)
        for start in range(0, len(chosen), AT_ONCE):
            rows = messages_by_number(self._agent_id, chosen[start : start + AT_ONCE])
            found |= {pk: one for pk, one in rows.items() if self._has(one)}
        return sorted(found.values(), key=lambda one: one.place, reverse=True)

    def _weightiest(self, most: int) -> list[int]:
        segments = self._segments()
        weights = Finder(self._query, self._filters).weights(segments)
        periods = [slice(*self._period(segment)) for segment in segments]
        if not segments:
            return []
        pairs = list(zip(segments, weights, periods, strict=True))
        weight = np.concatenate([found[period] for _, found, period in pairs])
        number = np.concatenate([segment.messages[period] for segment, _, period in pairs])
        at = np.concatenate([segment.times[period] for segment, _, period in pairs])
        heavy = np.flatnonzero(weight)
        order = np.lexsort((-at[heavy], -weight[heavy]))[:most]
        chosen: list[int] = number[heavy[order]].tolist()
        return chosen

    def _allowed(self) -> Iterator[tuple[Segment, Places]]:
        segments = self._segments()
        for segment, mask in zip(segments, Finder(None, self._filters).masks(segments), strict=True):
            begin, end = self._period(segment)
            yield segment, np.flatnonzero(mask[begin:end]) + begin

    def _segments(self) -> list[Segment]:
        live = SearchSegment.objects.filter(agent_id=self._agent_id, live=True)
        if self._filters.since is not None:
            live = live.filter(last_at__gte=self._filters.since)
        if self._filters.until is not None:
            live = live.filter(first_at__lt=self._filters.until)
        if self._below is not None:
            live = live.filter(first_at__lte=moment(self._below[0]))
        return load(list(live.order_by("-last_at").values_list("pk", flat=True)))

    def _merged(self, pending: Sequence[int], segments: Sequence[Segment]) -> Iterator[Found]:
        # Newest first: a heap of (time of the next, a number to tell them apart, the message, the rest).
        heap: list[tuple[int, int, int, Found, Iterator[Found]]] = []
        if pending:
            _push(heap, self._pending(pending))
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

    def _pending(self, numbers: Sequence[int]) -> Iterator[Found]:
        return filter(self._has, messages_of(self._agent_id, numbers))

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


def _push(heap: list[Any], source: Iterator[Found]) -> None:
    one = next(source, None)
    if one is not None:
        heapq.heappush(heap, (-one.place[0], -one.place[1], id(source), one, source))


def _first(segment: Segment, at: datetime) -> int:
    return int(np.searchsorted(segment.times, microseconds(at), side="left"))
