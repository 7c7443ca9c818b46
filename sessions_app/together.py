"""What arrives at the same time is done at once: who comes first leads, and takes along who waits by then."""

import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from typing import Generic, TypeVar


class Waiting:
    """What one thread asks for. It waits until that is done, or until it has to lead the next."""

    __slots__ = ("done", "turn")

    def __init__(self) -> None:
        self.done = False
        # Held until the job is done or its thread has to lead the next.
        self.turn = threading.Lock()
        self.turn.acquire()


J = TypeVar("J", bound=Waiting)


class Together(ABC, Generic[J]):
    """A line of jobs; one thread at a time leads.

    Who were done together come back together. The first of them would go alone each time, and the others
    after it: it waits a moment, `gather`, if the last who led had company.
    """

    def __init__(self, most: int, *, gather: float = 0.0) -> None:
        self._most = most
        self._gather = gather
        self._had_company = False
        self._mutex = threading.Lock()
        self._queue: deque[J] = deque()
        self._led = False

    def see_to(self, job: J) -> None:
        """Returns when the job is done: by this thread or by another that took it along."""
        with self._mutex:
            self._queue.append(job)
            leads, self._led = not self._led, True
        if not leads:
            job.turn.acquire()
        if not job.done:
            self._lead()

    @abstractmethod
    def _do(self) -> list[J]:
        """Take jobs, the own one among them, and do them; never raises."""

    def _lead(self) -> None:
        jobs: list[J] = []
        if self._gather and self._had_company:
            time.sleep(self._gather)
        try:
            jobs = self._do()
        finally:
            self._hand_over(jobs)

    def _take(self) -> list[J]:
        with self._mutex:
            return [self._queue.popleft() for _ in range(min(len(self._queue), self._most))]

    def _take_first(self) -> list[J]:
        with self._mutex:
            return [self._queue.popleft()]

    def _hand_over(self, jobs: list[J]) -> None:
        self._had_company = len(jobs) > 1
        for job in jobs:
            job.done = True
        with self._mutex:
            heir = self._queue[0] if self._queue else None
            self._led = heir is not None
        if heir is not None:
            heir.turn.release()
        for job in jobs:
            job.turn.release()
