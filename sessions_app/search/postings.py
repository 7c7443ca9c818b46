"""Which documents of a segment have a term, in few bytes; and pages of terms in their order. Pure."""

import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
Mask = NDArray[np.bool_]

# Places fit in two bytes.
MOST_DOCUMENTS = 65_536
PAGE_BYTES = 8_192
BLOCK = 256
LIST, BITS, BLOCKS = b"\0", b"\1", b"\2"
# No entry is longer: a bit for each document is the most.
NUMBER = np.dtype("<u2")
# No text in UTF-8 has it.
SEPARATOR = b"\xff"


def encode(places: Sequence[int] | Places, documents: int) -> bytes:
    """The shortest of three: the places, one bit for each document, or low bytes with a count a block."""
    count = len(places)
    bits, blocks = -(-documents // 8), -(-documents // BLOCK)
    if 2 * count <= min(bits, count + blocks):
        return LIST + array("H", places).tobytes()
    found = np.asarray(places, np.int64)
    if count + blocks < bits:
        counts = np.bincount(found >> 8, minlength=blocks)
        if counts.max() < BLOCK:
            return BLOCKS + counts.astype(np.uint8).tobytes() + (found & 255).astype(np.uint8).tobytes()
    mask = np.zeros(documents, np.bool_)
    mask[found] = True
    return BITS + np.packbits(mask).tobytes()


def decode(data: bytes, documents: int) -> Places:
    if data[:1] == LIST:
        return np.frombuffer(data, "<u2", offset=1).astype(np.int64)
    if data[:1] == BITS:
        return np.flatnonzero(decode_mask(data, documents))
    blocks = -(-documents // BLOCK)
    counts = np.frombuffer(data, np.uint8, blocks, 1)
    low = np.frombuffer(data, np.uint8, offset=1 + blocks)
    starts = np.arange(blocks, dtype=np.int64) * BLOCK
    return np.repeat(starts, counts) + low.astype(np.int64)


def decode_mask(data: bytes, documents: int) -> Mask:
    if data[:1] == BITS:
        return np.unpackbits(np.frombuffer(data, np.uint8, offset=1), count=documents).view(np.bool_)
    mask = np.zeros(documents, np.bool_)
    mask[decode(data, documents)] = True
    return mask


class Page(NamedTuple):
    terms: list[bytes]
    entries: Sequence[bytes]

    def find(self, term: bytes) -> bytes | None:
        place = bisect_right(self.terms, term) - 1
        return self.entries[place] if place >= 0 and self.terms[place] == term else None

    def starting_with(self, prefix: bytes) -> list[bytes]:
        return [
            entry for term, entry in zip(self.terms, self.entries, strict=True) if term.startswith(prefix)
        ]


class Entries(Sequence[bytes]):
    """Cut out of their page when they are wanted: mostly one of them is."""

    def __init__(self, data: bytes, bounds: Sequence[int]) -> None:
        self._data = data
        self._bounds = bounds

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> list[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | list[bytes]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        return self._data[self._bounds[place] : self._bounds[place + 1]]

    def __iter__(self) -> Iterator[bytes]:
        return (self._data[begin:end] for begin, end in pairwise(self._bounds))


def write_page(page: Page) -> bytes:
    sizes = np.array([*map(len, page.entries)], NUMBER).tobytes()
    head = zlib.compress(sizes + SEPARATOR.join(page.terms), 1)
    return (
        len(page.terms).to_bytes(2, "little")
        + len(head).to_bytes(4, "little")
        + head
        + b"".join(page.entries)
    )


def read_page(data: bytes) -> Page:
    count, start = int.from_bytes(data[:2], "little"), 6 + int.from_bytes(data[2:6], "little")
    head = zlib.decompress(data[6:start])
    ends = (np.frombuffer(head, NUMBER, count).cumsum(dtype=np.int64) + start).tolist()
    return Page(head[NUMBER.itemsize * count :].split(SEPARATOR), Entries(data, [start, *ends]))


def pages(entries: Iterable[tuple[bytes, bytes]]) -> Iterator[Page]:
    """Terms in their order, in pages of some thousand bytes; a term is never cut."""
    terms: list[bytes] = []
    found: list[bytes] = []
    size = 0
    for term, entry in entries:
        if terms and size + len(entry) > PAGE_BYTES:
            yield Page(terms, found)
            terms, found, size = [], [], 0
        terms.append(term)
        found.append(entry)
        size += len(term) + len(entry) + 5
    if terms:
        yield Page(terms, found)


def pack_terms(terms: Sequence[bytes]) -> bytes:
    return zlib.compress(SEPARATOR.join(terms), 1)


def unpack_terms(data: bytes) -> list[bytes]:
    return zlib.decompress(data).split(SEPARATOR)


def pack_numbers(numbers: Places) -> bytes:
    """By their differences, which are small."""
    return zlib.compress(np.diff(numbers, prepend=0).astype("<i8").tobytes(), 1)


def unpack_numbers(data: bytes) -> Places:
    return np.frombuffer(zlib.decompress(data), "<i8").cumsum()
