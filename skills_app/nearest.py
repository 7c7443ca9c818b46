"""Search in the process: the vectors of an agent in one matrix, brought up to date before each look.

A look asks the database for what was committed since the last one, so that every process sees every
invocation at once. On PostgreSQL a transaction may commit after others that began later: a look therefore
begins where the oldest transaction was that the last look could not see, and knows again what it has.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from sessions_app.embedding import Vectors
from skills_app.statements import rows

# The newest of an agent that are searched, and what all agents of a process may hold: a kilobyte each.
MOST = 200_000
MOST_TOGETHER = 400_000
BATCH = 2_000
# Room for a quarter more than there is: what is not filled takes no memory yet.
GROWTH = 1.25
LEAST_ROOM = 1024

COUNT = "SELECT COUNT(*) FROM skills_app_queryvector WHERE agent_id = %s AND model = %s"
SINCE = f"""SELECT invocation_id, session_pk, skill_name, vector, stamp FROM skills_app_queryvector
WHERE agent_id = %s AND model = %s AND (stamp, invocation_id) > (%s, %s)
ORDER BY stamp, invocation_id LIMIT {BATCH}"""  # noqa: S608 - a number of our own
HORIZON = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
NEWEST_STAMP = """SELECT COALESCE((SELECT stamp FROM skills_app_queryvector WHERE agent_id = %s AND model = %s
ORDER BY stamp DESC LIMIT 1), 0)"""

Numbers = NDArray[np.int64]


class View(NamedTuple):
    """What a shelf holds at one moment. Nothing of it changes any more: a shelf only adds behind it."""

    vectors: Vectors
    pks: Numbers
    sessions: Numbers
    codes: Numbers
    names: Sequence[str]

    def at(self, places: Numbers | slice) -> "View":
        return View(
            self.vectors[places], self.pks[places], self.sessions[places], self.codes[places], self.names
        )


class Shelf:
    """The vectors of one agent and model, in rows that only grow until they are copied."""

    def __init__(self, dimensions: int) -> None:
        self.lock = threading.Lock()
        self.size = 0
        self._vectors: Vectors = np.zeros((0, dimensions), np.float32)
        self._pks: Numbers = np.zeros(0, np.int64)
        self._sessions: Numbers = np.zeros(0, np.int64)
        self._codes: Numbers = np.zeros(0, np.int64)
        self._names: list[str] = []
        self._code_of: dict[str, int] = {}
        self._known: set[int] = set()
        self._from = -1

    def view(self, agent_id: int, model: str) -> View:
        """With what was committed since the last look."""
        with self.lock:
            self._refresh(agent_id, model)
            whole = View(self._vectors, self._pks, self._sessions, self._codes, list(self._names))
            return whole.at(slice(self.size))

    def _refresh(self, agent_id: int, model: str) -> None:
        start = self._from
        # First the horizon: what commits between the two questions is read twice rather than never.
        self._from = self._horizon(agent_id, model)
        if start < 0:
            self._make_room(min(rows(COUNT, [agent_id, model])[0][0], MOST))
        stamp, last = start, -1
        while found := rows(SINCE, [agent_id, model, stamp, last]):
            for pk, session, skill, numbers, _ in found:
                self._put(pk, session, skill, numbers)
            last, stamp = found[-1][0], found[-1][4]
            if self.size > MOST * 5 // 4:
                self._keep(np.sort(np.argsort(self._pks[: self.size])[-MOST:]))

    def _horizon(self, agent_id: int, model: str) -> int:
        if connection.vendor == "sqlite":
            newest: int = rows(NEWEST_STAMP, [agent_id, model])[0][0]
            return newest
        oldest: int = rows(HORIZON, [])[0][0]
        return oldest

    def _put(self, pk: int, session: int | None, skill: str, numbers: bytes) -> None:
        if pk in self._known or len(numbers) != self._vectors.shape[1] * 4:
            return
        if self.size == len(self._pks):
            self._make_room(self.size)
        place = self.size
        self._vectors[place] = np.frombuffer(numbers, "<f4")
        self._pks[place] = pk
        self._sessions[place] = session or 0
        self._codes[place] = self._code(skill)
        self._known.add(pk)
        self.size += 1

    def _code(self, skill: str) -> int:
        code = self._code_of.setdefault(skill, len(self._names))
        if code == len(self._names):
            self._names.append(skill)
        return code

    def _make_room(self, count: int) -> None:
        room = max(int(count * GROWTH), LEAST_ROOM)
        for name in ("_vectors", "_pks", "_sessions", "_codes"):
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), old.dtype)
            new[: self.size] = old[: self.size]
            setattr(self, name, new)

    def drop(self, gone: Sequence[int]) -> None:
        with self.lock:
            stays = ~np.isin(self._pks[: self.size], list(gone))
            if not stays.all():
                self._keep(np.flatnonzero(stays))

    def _keep(self, places: NDArray[Any]) -> None:
        """Copies: views of what was there before stay as they are."""
        for name in ("_vectors", "_pks", "_sessions", "_codes"):
            setattr(self, name, getattr(self, name)[places])
        self.size = len(places)
        self._known = set(self._pks.tolist())


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
        view = self._shelf.view(agent_id, model)
        if session_pk is not None:
            view = view.at(np.flatnonzero(view.sessions == session_pk))
        # Outside of the lock: it takes the longest, and others may look meanwhile.
        self._likeness = np.rint(view.vectors @ query * np.float32(1e5))
        self._pks, self._codes, self._names = view.pks, view.codes, view.names

    def best_by_skill(self) -> dict[str, float]:
        if not len(self._pks):
            return {}
        # Of one kind, and with numbers of the machine's own width: ten times as fast as any others.
        best = np.full(len(self._names), -np.inf, np.float32)
        np.maximum.at(best, self._codes, self._likeness)
        return {name: float(best[i]) / 1e5 for i, name in enumerate(self._names) if best[i] > -np.inf}

    def closest(self, skill: str, limit: int) -> list[tuple[int, float]]:
        own = np.flatnonzero(self._codes == self._names.index(skill))
        likeness = self._likeness[own]
        if len(own) > limit:
            # All that are as like as the last one: which of them come first is then decided by their number.
            border = -np.partition(-likeness, limit - 1)[limit - 1]
            own, likeness = own[likeness >= border], likeness[likeness >= border]
        pks = self._pks[own]
        order = np.lexsort((-pks, -likeness))[:limit]
        return [(int(pks[i]), float(likeness[i]) / 1e5) for i in order]

    def forget(self, gone: Sequence[int]) -> None:
        """Those that turned out to be erased, or to have another vector by now."""
        self._shelf.drop(gone)
        stays = ~np.isin(self._pks, list(gone))
        self._likeness, self._pks, self._codes = self._likeness[stays], self._pks[stays], self._codes[stays]
