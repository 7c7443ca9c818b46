"""Search in the process: the vectors of an agent in one matrix, brought up to date before each look.

A look asks the database for what was committed since the last one, so that every process sees every
invocation at once. On PostgreSQL a transaction may commit after others that began later: a look therefore
begins where the oldest transaction was that the last look could not see, and knows again what it has.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from sessions_app.embedding import Vectors
from skills_app.statements import rows

# The newest of an agent that are searched, and what all agents of a process may hold: a kilobyte each.
MOST = 200_000
MOST_TOGETHER = 400_000
BATCH = 5_000

SINCE = """SELECT invocation_id, session_pk, skill_name, vector, stamp FROM skills_app_queryvector
WHERE agent_id = %s AND model = %s AND stamp >= %s ORDER BY stamp, invocation_id"""
HORIZON = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
NEWEST_STAMP = """SELECT COALESCE((SELECT stamp FROM skills_app_queryvector WHERE agent_id = %s AND model = %s
ORDER BY stamp DESC LIMIT 1), 0)"""


class Shelf:
    """The vectors of one agent and model, in rows that only grow until it is tidied."""

    def __init__(self, dimensions: int) -> None:
        self.lock = threading.Lock()
        self.size = 0
        self.vectors: Vectors = np.zeros((1024, dimensions), np.float32)
        self.pks: NDArray[np.int64] = np.zeros(1024, np.int64)
        self.sessions: NDArray[np.int64] = np.zeros(1024, np.int64)
        self.codes: NDArray[np.intp] = np.zeros(1024, np.intp)
        self.names: list[str] = []
        self._code_of: dict[str, int] = {}
        self._place_of: dict[int, int] = {}
        self._from = -1

    def refresh(self, agent_id: int, model: str) -> None:
        """What was committed since the last look."""
        start = self._from
        # First the horizon: what commits between the two questions is read twice rather than never.
        self._from = self._horizon(agent_id, model)
        width = self.vectors.shape[1] * 4
        for pk, session, skill, numbers, _ in rows(SINCE, [agent_id, model, start]):
            if pk not in self._place_of and len(numbers) == width:
                self._put(pk, session, skill, numbers)
        if self.size > MOST * 5 // 4:
            self._keep(np.sort(np.argsort(self.pks[: self.size])[-MOST:]))

    def _horizon(self, agent_id: int, model: str) -> int:
        if connection.vendor == "sqlite":
            newest: int = rows(NEWEST_STAMP, [agent_id, model])[0][0]
            return newest
        oldest: int = rows(HORIZON, [])[0][0]
        return oldest

    def _put(self, pk: int, session: int | None, skill: str, numbers: bytes) -> None:
        if self.size == len(self.pks):
            self._grow()
        place = self.size
        self.vectors[place] = np.frombuffer(numbers, "<f4")
        self.pks[place] = pk
        self.sessions[place] = session or 0
        self.codes[place] = self._code(skill)
        self._place_of[pk] = place
        self.size += 1

    def _code(self, skill: str) -> int:
        code = self._code_of.setdefault(skill, len(self.names))
        if code == len(self.names):
            self.names.append(skill)
        return code

    def _grow(self) -> None:
        room = len(self.pks) * 2
        for name in ("vectors", "pks", "sessions", "codes"):
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), old.dtype)
            new[: self.size] = old[: self.size]
            setattr(self, name, new)

    def drop(self, gone: Sequence[int]) -> None:
        places = {self._place_of[pk] for pk in gone if pk in self._place_of}
        if places:
            self._keep(np.array([place for place in range(self.size) if place not in places], np.int64))

    def _keep(self, places: NDArray[Any]) -> None:
        for name in ("vectors", "pks", "sessions", "codes"):
            column = getattr(self, name)
            column[: len(places)] = column[places]
        self.size = len(places)
        self._place_of = {int(pk): place for place, pk in enumerate(self.pks[: self.size])}


class Shelves:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shelves: OrderedDict[tuple[str, int, str], Shelf] = OrderedDict()

    def of(self, agent_id: int, model: str, dimensions: int) -> Shelf:
        key = (str(connection.settings_dict["NAME"]), agent_id, model)
        with self._lock:
            shelf = self._shelves.setdefault(key, Shelf(dimensions))
            self._shelves.move_to_end(key)
            while (
                len(self._shelves) > 1 and sum(each.size for each in self._shelves.values()) > MOST_TOGETHER
            ):
                self._shelves.popitem(last=False)
        return shelf

    def clear(self) -> None:
        with self._lock:
            self._shelves.clear()


shelves = Shelves()


class Found:
    """One question, answered from the matrix. Likenesses have five places, so that equal texts are equal."""

    def __init__(self, agent_id: int, model: str, query: Vectors, session_pk: int | None) -> None:
        self._shelf = shelves.of(agent_id, model, len(query))
        self._model = model
        with self._shelf.lock:
            self._shelf.refresh(agent_id, model)
            self._look(query, session_pk)

    def _look(self, query: Vectors, session_pk: int | None) -> None:
        size = self._shelf.size
        likeness = np.rint(self._shelf.vectors[:size] @ query * np.float32(1e5))
        pks, codes = self._shelf.pks[:size], self._shelf.codes[:size]
        if session_pk is not None:
            of_session = self._shelf.sessions[:size] == session_pk
            likeness, pks, codes = likeness[of_session], pks[of_session], codes[of_session]
        # Copies: the shelf may be tidied while this answer is still being made.
        self._likeness, self._pks, self._codes = likeness, pks.copy(), codes.copy()
        self._names = list(self._shelf.names)

    def best_by_skill(self) -> dict[str, float]:
        if not len(self._pks):
            return {}
        # Of one kind, and with numbers of the machine's own width: ten times as fast as any others.
        best = np.full(len(self._names), -np.inf, np.float32)
        np.maximum.at(best, self._codes, self._likeness)
        return {name: float(best[i]) / 1e5 for i, name in enumerate(self._names) if best[i] > -np.inf}

    def closest(self, skill: str | None, limit: int) -> list[tuple[int, str, float]]:
        likeness, pks, codes = self._likeness, self._pks, self._codes
        if skill is not None:
            own = codes == self._names.index(skill)
            likeness, pks, codes = likeness[own], pks[own], codes[own]
        if len(pks) > limit:
            # All that are as like as the last one: which of them come first is then decided by their number.
            border = -np.partition(-likeness, limit - 1)[limit - 1]
            near = likeness >= border
            likeness, pks, codes = likeness[near], pks[near], codes[near]
        order = np.lexsort((-pks, -likeness))[:limit]
        return [(int(pks[i]), self._names[codes[i]], float(likeness[i]) / 1e5) for i in order]

    def forget(self, gone: Sequence[int]) -> None:
        """Those that turned out to be erased, or to have another vector by now."""
        with self._shelf.lock:
            self._shelf.drop(gone)
        stays = ~np.isin(self._pks, list(gone))
        self._likeness, self._pks, self._codes = self._likeness[stays], self._pks[stays], self._codes[stays]
