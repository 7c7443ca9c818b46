"""What makes a record the same one when it is met again."""

import hashlib
from collections import Counter
from typing import Any
from uuid import UUID

import orjson

# A record is hardly ever shorter than that; the filter is sized for it.
BYTES_A_RECORD, BITS_A_RECORD, TURNS = 64, 8, 3


def mark_of(*parts: str) -> UUID:
    """128 bits: two records share one by chance less often than a disk loses them."""
    text = "\x1f".join(parts).encode("utf-8", "replace")
    return UUID(bytes=hashlib.blake2b(text, digest_size=16).digest())


def digest(value: Any) -> str:
    raw = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return hashlib.blake2b(raw, digest_size=12).hexdigest()


class Repeats:
    """Ids by content, and by how often it was met before in this file.

    Remembered in a Bloom filter of a byte or two for each record: in a file of gigabytes nearly all come
    once. One that only seems to repeat is counted as if it did, and has an id of its own all the same."""

    def __init__(self, file_bytes: int) -> None:
        self._bits = max(1 << 13, 1 << (file_bytes // BYTES_A_RECORD * BITS_A_RECORD).bit_length())
        self._met = bytearray(self._bits // 8)
        self._again: Counter[str] = Counter()

    def id_of(self, record: Any) -> str:
        found = digest(record)
        if not self._meet(int(found, 16)):
            return f"{found}.1"
        self._again[found] += 1
        return f"{found}.{self._again[found] + 1}"

    def _meet(self, number: int) -> bool:
        """Whether all of its bits were set before; they are now."""
        known = True
        for turn in range(TURNS):
            place = (number >> turn * 24) % self._bits
            if not self._met[place >> 3] >> (place & 7) & 1:
                known = False
                self._met[place >> 3] |= 1 << (place & 7)
        return known
