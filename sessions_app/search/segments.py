"""Segments of the index: built of documents, read by their directory, merged and rewritten into new ones."""

import heapq
import secrets
import threading
from array import array
from bisect import bisect_right
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby, islice
from operator import itemgetter
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from sessions_app.commits import commit
from sessions_app.models import SearchPage, SearchSegment
from sessions_app.search.postings import (
    LIST,
    Page,
    Places,
    decode,
    encode,
    pack_numbers,
    pack_terms,
    pages,
    read_page,
    unpack_numbers,
    unpack_terms,
    write_page,
)
from sessions_app.storage import storage

# A page's number is the segment's, with room for its own. Segments have random ones: none is used again.
SEGMENT_BITS, PAGE_BITS = 43, 20
# A megabyte or so.
PAGES_AT_ONCE = 128
# Labels (role, tool, …), grams, sessions, words.
KINDS = "fgsw"
# Of an entry that is merged without numpy.
SHORT = 64
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Per process: what is asked again and again is not read again. A segment of 65 536 takes 1 MB.
SEGMENTS_KEPT = 64
PAGES_KEPT = 2_000

Value = TypeVar("Value")


class Stale(Exception):
    """A segment was merged away while it was read: look again."""


class Indexed(NamedTuple):
    """A message on its way into the index."""

    message: int
    at: int
    # One for each of KINDS.
    terms: tuple[Iterable[str], ...]


@dataclass(frozen=True)
class Contents:
    """What a segment is written with: the messages in the order of their times, and its pages."""

    messages: Places
    times: Places
    pages: Iterator[Page]


@dataclass(frozen=True)
class Segment:
    """One that is there to be read."""

    id: int
    messages: Places
    times: Places
    directory: list[bytes]

    @property
    def count(self) -> int:
        return len(self.messages)

    @property
    def last_at(self) -> int:
        return int(self.times[-1])

    def page_ids(self, first: bytes, last: bytes) -> list[int]:
        """The pages that hold the terms from one to another."""
        begin = max(bisect_right(self.directory, first) - 1, 0)
        return [self.id << PAGE_BITS | number for number in range(begin, bisect_right(self.directory, last))]


def build(documents: Sequence[Indexed]) -> Contents:
    ordered = sorted(documents, key=itemgetter(1, 0))
    count = len(ordered)
    kinds = zip(*(document.terms for document in ordered), strict=True)
    places = [_places(terms) for terms in kinds]
    # A kind's letter stands before all of its terms, and the letters are in their order.
    entries = (
        (f"{letter}{term}".encode(), encode(found[term], count))
        for letter, found in zip(KINDS, places, strict=True)
        for term in sorted(found)
    )
    return Contents(
        np.array([document.message for document in ordered], np.int64),
        np.array([document.at for document in ordered], np.int64),
        pages(entries),
    )


def _places(terms: Iterable[Iterable[str]]) -> Mapping[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for place, of_document in enumerate(terms):
        for term in of_document:
            found[term].append(place)
    return found


def merge(segments: Sequence[Segment], without: Places | None = None) -> Contents | None:
    """All of their messages in one, but for those that are erased; None where nothing is left."""
    messages = np.concatenate([segment.messages for segment in segments])
    times = np.concatenate([segment.times for segment in segments])
    order = np.lexsort((messages, times))
    # A message that two segments hold counts once; -1 stands for what is left out.
    keep = np.r_[True, np.diff(messages[order]) != 0]
    number = np.cumsum(keep) - 1
    if without is not None:
        gone = np.isin(messages[order], without)
        keep &= ~gone
        number = np.where(gone, -1, np.cumsum(keep) - 1)
    renumbered = np.empty(len(order), np.int64)
    renumbered[order] = number
    count = int(keep.sum())
    if not count:
        return None
    maps = np.split(renumbered, np.cumsum([segment.count for segment in segments])[:-1])
    return Contents(messages[order][keep], times[order][keep], pages(_merged(segments, maps, count)))


def _merged(segments: Sequence[Segment], maps: Sequence[Places], count: int) -> Iterator[tuple[bytes, bytes]]:
    streams = [_entries(place, segment) for place, segment in enumerate(segments)]
    as_lists = [numbers.tolist() for numbers in maps]
    for term, group in groupby(heapq.merge(*streams, key=itemgetter(0)), key=itemgetter(0)):
        found = [(place, data) for _, place, data in group]
        places: Sequence[int] | Places
        if all(data[:1] == LIST and len(data) <= SHORT for _, data in found):
            # Most terms are rare: for a few numbers Python is quicker than numpy.
            numbers = {as_lists[place][one] for place, data in found for one in array("H", data[1:])}
            places = sorted(numbers - {-1})
        else:
            parts = [maps[place][decode(data, segments[place].count)] for place, data in found]
            places = np.unique(np.concatenate(parts))
            places = places[1:] if places[0] < 0 else places
        if len(places):
            yield term, encode(places, count)


def _entries(place: int, segment: Segment) -> Iterator[tuple[bytes, int, bytes]]:
    """All terms of a segment, read some pages at a time."""
    ids = [segment.id << PAGE_BITS | number for number in range(len(segment.directory))]
    for start in range(0, len(ids), 64):
        found = read(ids[start : start + 64], keep=False)
        for number in ids[start : start + 64]:
            for term, data in zip(*found[number], strict=True):
                yield term, place, data


class Kept(Generic[Value]):
    """The values that were used last. What a number stands for never changes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[int, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, numbers: Iterable[int]) -> dict[int, Value]:
        with self._lock:
            found = {number: self._values[number] for number in numbers if number in self._values}
            for number in found:
                self._values.move_to_end(number)
        return found

    def put(self, values: Mapping[int, Value]) -> None:
        with self._lock:
            self._values.update(values)
            while len(self._values) > self._most:
                self._values.popitem(last=False)


_segments: Kept[Segment] = Kept(SEGMENTS_KEPT)
_pages: Kept[Page] = Kept(PAGES_KEPT)


def load(ids: Sequence[int]) -> list[Segment]:
    found = _segments.get(ids)
    missing = [number for number in ids if number not in found]
    if missing:
        columns = ("pk", "messages", "times", "directory")
        rows = SearchSegment.objects.filter(pk__in=missing, live=True).values_list(*columns)
        read_now = {
            pk: Segment(
                pk,
                unpack_numbers(bytes(messages)),
                unpack_numbers(bytes(times)),
                unpack_terms(bytes(directory)),
            )
            for pk, messages, times, directory in rows
        }
        _segments.put(read_now)
        found |= read_now
    if len(found) < len(set(ids)):
        raise Stale
    return [found[number] for number in ids]


def read(ids: Iterable[int], *, keep: bool = True) -> Mapping[int, Page]:
    wanted = list(dict.fromkeys(ids))
    found = _pages.get(wanted)
    missing = [number for number in wanted if number not in found]
    for start in range(0, len(missing), 512):
        read_now = {
            number: read_page(bytes(data)) for number, data in _page_rows(missing[start : start + 512])
        }
        if keep:
            _pages.put(read_now)
        found |= read_now
    if len(found) < len(wanted):
        raise Stale
    return found


def _page_rows(ids: Sequence[int]) -> list[tuple[int, bytes]]:
    # As many marks as the next power of two: few statements to prepare, whatever is asked.
    padded = [*ids, *[ids[-1]] * ((1 << (len(ids) - 1).bit_length()) - len(ids))]
    marks = ", ".join(["%s"] * len(padded))
    return storage().rows(f"SELECT id, data FROM sessions_app_searchpage WHERE id IN ({marks})", padded)  # noqa: S608 - marks alone


def write(agent_id: int, contents: Contents, now: datetime) -> int:
    """Store a segment that nobody looks at yet, in transactions that hold up nobody for long."""
    number = secrets.randbits(SEGMENT_BITS)
    firsts: list[bytes] = []
    segment = SearchSegment(
        pk=number,
        agent_id=agent_id,
        count=len(contents.messages),
        first_at=moment(contents.times[0]),
        last_at=moment(contents.times[-1]),
        messages=pack_numbers(contents.messages),
        times=pack_numbers(contents.times),
        directory=b"",
        created_at=now,
    )
    commit(lambda: segment.save(force_insert=True))
    while batch := list(islice(contents.pages, PAGES_AT_ONCE)):
        rows = [
            SearchPage(id=number << PAGE_BITS | place, segment_id=number, data=write_page(page))
            for place, page in enumerate(batch, len(firsts))
        ]
        firsts += [page.terms[0] for page in batch]
        commit(lambda rows=rows: SearchPage.objects.bulk_create(rows))  # type: ignore[misc]
    segment.directory = pack_terms(firsts)
    commit(lambda: segment.save(update_fields=["directory"]))
    return number


def exchange(old: Sequence[int], new: Sequence[int]) -> None:
    """Runs inside `commit`: some take the place of others."""
    if SearchSegment.objects.filter(pk__in=old, live=True).update(live=False) < len(old):
        raise Stale
    SearchSegment.objects.filter(pk__in=new).update(live=True)


def drop(ids: Sequence[int]) -> None:
    """Of segments that nobody looks at any more, their pages first."""
    for number in ids:
        held = SearchPage.objects.filter(segment_id=number)
        while batch := list(held.values_list("pk", flat=True)[:PAGES_AT_ONCE]):
            commit(lambda batch=batch: SearchPage.objects.filter(pk__in=batch).delete())  # type: ignore[misc]
    commit(lambda: SearchSegment.objects.filter(pk__in=ids).delete())


def microseconds(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1)


def moment(at: int) -> datetime:
    return EPOCH + timedelta(microseconds=int(at))
