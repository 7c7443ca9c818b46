"""Search by meaning: the vectors of an agent, compared in the process, in bounded memory."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db.models import F, Sum
from numpy.typing import NDArray

from sessions_app.embedding import Embedder, NoEmbeddings, Vectors, embedder
from sessions_app.models import SearchVector
from sessions_app.problems import Busy
from sessions_app.search.filters import Filters
from sessions_app.search.pending import pending_sessions
from sessions_app.search.reading import Reader
from sessions_app.search.rows import Found, Place, messages_by_number
from sessions_app.search.vectors import pending, unpacked

# Of one agent, and of all agents that were asked for last; older messages are then found by words alone.
AGENT_BYTES = 64 * 1024 * 1024
ALL_BYTES = 2 * AGENT_BYTES
AT_ONCE = 8_192
LEAST_SIMILARITY = 0.1


@dataclass(frozen=True)
class Near:
    found: Sequence[tuple[Found, float]]
    looked_at: int
    notes: Sequence[str] = ()


@dataclass
class Known:
    """The newest vectors of an agent, as they were read so far."""

    last: int = 0
    messages: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    numbers: NDArray[np.int8] = field(default_factory=lambda: np.zeros((0, 0), np.int8))
    scales: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))

    @property
    def size(self) -> int:
        return self.numbers.nbytes + self.scales.nbytes + self.messages.nbytes

    def add(self, rows: Sequence[tuple[int, int, bytes]], dimensions: int, most: int) -> "Known":
        numbers, scales = unpacked([bytes(data) for _, _, data in rows], dimensions)
        before = self.numbers if len(self.messages) else numbers[:0]
        return Known(
            rows[-1][0],
            np.concatenate([self.messages, np.array([row[1] for row in rows], np.int64)])[-most:],
            np.concatenate([before, numbers])[-most:],
            np.concatenate([self.scales, scales])[-most:],
        )

    def similarities(self, asked: Vectors) -> Vectors:
        parts = [
            self.numbers[start : start + AT_ONCE].astype(np.float32) @ asked
            for start in range(0, len(self.messages), AT_ONCE)
        ]
        return np.concatenate(parts) * self.scales if parts else np.zeros(0, np.float32)


def nearest(
    agent_id: int, typed: str, filters: Filters, most: int, below: Place | None, *, strict: bool
) -> Near:
    """The closest messages; without vectors it says so, and `strict` refuses."""
    try:
        made_by = embedder()
        asked = made_by.embed([typed])[0]
    except NoEmbeddings as missing:
        if strict:
            raise Busy(f"There is no search by meaning: {missing}") from missing
        return Near([], 0, [f"By words alone: {missing}"])
    known = _known.of(agent_id, made_by)
    notes = _notes(agent_id, len(known.messages))
    similar = known.similarities(asked)
    allowed = _allowed(agent_id, filters, known.messages)
    order = np.argsort(-np.where(allowed, similar, -1), kind="stable")
    order = order[np.where(allowed, similar, -1)[order] >= LEAST_SIMILARITY]
    found = _read(agent_id, known.messages[order], similar[order], filters, below)
    return Near([pair for pair, _ in zip(found, range(most), strict=False)], len(known.messages), notes)


def _allowed(agent_id: int, filters: Filters, messages: NDArray[np.int64]) -> NDArray[np.bool_]:
    if filters == Filters(include_hidden=filters.include_hidden):
        return np.ones(len(messages), np.bool_)
    return np.isin(messages, Reader(agent_id, None, filters).allowed())


def _read(
    agent_id: int, messages: NDArray[np.int64], similar: Vectors, filters: Filters, below: Place | None
) -> Iterator[tuple[Found, float]]:
    seen: set[int] = set()
    for start in range(0, len(messages), 256):
        chosen = messages[start : start + 256].tolist()
        rows = messages_by_number(agent_id, chosen)
        for pk, score in zip(chosen, similar[start : start + 256].tolist(), strict=True):
            one = rows.get(pk)
            if one and pk not in seen and one.passes(filters) and (below is None or one.place < below):
                seen.add(pk)
                yield one, score


def _notes(agent_id: int, looked_at: int) -> list[str]:
    # Two sums, each by an index of what is left to do.
    unindexed = (
        pending_sessions().filter(agent_id=agent_id).aggregate(n=Sum(F("last_seq") - F("searched_through")))
    )
    unmade = (
        pending().filter(agent_id=agent_id).aggregate(n=Sum(F("searched_through") - F("embedded_through")))
    )
    missing = (unindexed["n"] or 0) + (unmade["n"] or 0)
    if missing and not looked_at:
        return [
            f"No message has a vector yet; {missing} wait for theirs. Until then search by words finds them."
        ]
    return [f"{missing} messages have no vector yet and cannot be found by meaning."] if missing else []


class _KnownVectors:
    """What was read stays, for the agents that were asked for last."""

    def __init__(self) -> None:
        self._agents: OrderedDict[tuple[int, str], Known] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, agent_id: int, made_by: Embedder) -> Known:
        key, most = (agent_id, made_by.model), AGENT_BYTES // (made_by.dimensions + 12)
        with self._lock:
            known = self._agents.get(key) or Known(_start(agent_id, made_by.model, most))
            while rows := _behind(agent_id, made_by, known.last):
                known = known.add(rows, made_by.dimensions, most)
            self._agents[key] = known
            self._agents.move_to_end(key)
            while len(self._agents) > 1 and sum(one.size for one in self._agents.values()) > ALL_BYTES:
                self._agents.popitem(last=False)
        return known

    def forget(self) -> None:
        with self._lock:
            self._agents.clear()


_known = _KnownVectors()
forget = _known.forget


def _vectors(agent_id: int, model: str) -> Any:
    return SearchVector.objects.filter(agent_id=agent_id, model=model)


def _start(agent_id: int, model: str, most: int) -> int:
    """Behind which the newest are."""
    first = _vectors(agent_id, model).order_by("-pk").values_list("pk", flat=True)[most - 1 : most]
    return next(iter(first), 1) - 1


def _behind(agent_id: int, made_by: Embedder, last: int) -> list[tuple[int, int, bytes]]:
    behind = _vectors(agent_id, made_by.model).filter(pk__gt=last, dimensions=made_by.dimensions)
    return list(behind.order_by("pk").values_list("pk", "message", "data")[:AT_ONCE])
