"""What makes a record the same one when it is met again."""

import hashlib
from collections import Counter
from typing import Any
from uuid import UUID

import orjson


def mark_of(*parts: str) -> UUID:
    """128 bits: two records share one by chance less often than a disk loses them."""
    text = "\x1f".join(parts).encode("utf-8", "replace")
    return UUID(bytes=hashlib.blake2b(text, digest_size=16).digest())


def digest(value: Any) -> str:
    raw = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return hashlib.blake2b(raw, digest_size=12).hexdigest()


class Repeats:
    """Ids by content. Equal records of one time are told apart by counting, within that time alone: however
    long the file is, no more than that is remembered."""

    def __init__(self) -> None:
        self._time: Any = object()
        self._seen: Counter[str] = Counter()

    def id_of(self, record: Any, time: Any) -> str:
        if time != self._time:
            self._time = time
            self._seen.clear()
        found = digest(record)
        self._seen[found] += 1
        return f"{found}.{self._seen[found]}"
