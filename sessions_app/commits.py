"""Every write of a request goes through `commit`: durable when it returns, exact at any concurrency.

On SQLite there is one writer at a time and a commit costs an fsync. Requests that arrive together therefore
share one transaction: the first of them leads, takes along whatever is queued when the lock is its own, and
answers all after the one commit. A request that fails is rolled back alone: where it had written something,
all of them run again, each behind a savepoint, which everyone would otherwise have to pay for. On PostgreSQL,
which shares commits by itself, each request has its own transaction.

What `transaction.on_commit` was given runs in the thread of the request it belongs to. It comes after the
truth is stored: when it fails, that is logged and the request has still succeeded.
"""

import contextvars
import threading
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar, cast

import structlog
from django.db import OperationalError, connection, transaction

T = TypeVar("T")
Hooks = list[Callable[[], object]]

log = structlog.get_logger(__name__)

MOST_PER_COMMIT = 256


def commit(work: Callable[[], T], *, one_statement: bool = False) -> T:
    """Run `work` in a transaction and return once it is committed; inside a transaction, join it."""
    if connection.in_atomic_block:
        with transaction.atomic():
            return work()
    if connection.vendor == "sqlite":
        return cast("T", _shared.run(work))
    if one_statement:
        return work()
    with transaction.atomic():
        result, hooks = work(), _take_hooks()
    _run(hooks)
    return result


def _take_hooks() -> Hooks:
    hooks, connection.run_on_commit = connection.run_on_commit, []
    return [hook[1] for hook in hooks]


def _run(hooks: Hooks) -> None:
    for hook in hooks:
        try:
            hook()
        except Exception:
            log.exception("what should follow a commit failed")


class _Job:
    __slots__ = ("context", "done", "error", "hooks", "result", "turn", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        # The leader's thread runs it, under the request id of the request it belongs to.
        self.context = contextvars.copy_context()
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.hooks: Hooks = []
        # Held until the job is done or its thread has to lead the next transaction.
        self.turn = threading.Lock()
        self.turn.acquire()

    def attempt(self, *, behind_savepoint: bool) -> None:
        self.result, self.error = None, None
        try:
            with transaction.atomic() if behind_savepoint else nullcontext():
                self.result = self.context.run(self.work)
            self.hooks = _take_hooks()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread it belongs to
            self.error = error
            # Without a savepoint they would stay, and be taken for the next one's.
            _take_hooks()

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        _run(self.hooks)
        return self.result


class _LeftBehind(Exception):
    """A request failed in a way that touches the others: all are done anew, each behind a savepoint."""


class SharedCommits:
    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._queue: deque[_Job] = deque()
        self._led = False

    def run(self, work: Callable[[], Any]) -> Any:
        job = _Job(work)
        with self._mutex:
            self._queue.append(job)
            leads, self._led = not self._led, True
        if not leads:
            job.turn.acquire()
        if not job.done:
            self._lead()
        return job.outcome()

    def _lead(self) -> None:
        jobs: list[_Job] = []
        try:
            try:
                with transaction.atomic():
                    jobs = self._take()
                    self._attempt_together(jobs)
            except _LeftBehind:
                with transaction.atomic():
                    for job in jobs:
                        job.attempt(behind_savepoint=True)
                    self._refuse_broken(jobs)
        except BaseException as error:  # noqa: BLE001 - raised again in the threads that wait
            # Nothing was committed: whoever was in it must hear that, and nobody waits for ever.
            jobs = jobs or self._fail_first()
            for job in jobs:
                job.result, job.error = None, error
        finally:
            self._hand_over(jobs)

    def _take(self) -> list[_Job]:
        with self._mutex:
            return [self._queue.popleft() for _ in range(min(len(self._queue), MOST_PER_COMMIT))]

    def _attempt_together(self, jobs: list[_Job]) -> None:
        for job in jobs:
            before = connection.connection.total_changes
            job.attempt(behind_savepoint=False)
            wrote = connection.connection.total_changes != before
            # Django gives up a transaction whose constraint was broken outside of a savepoint, and SQLite
            # one for which there is no room: what came before would be gone, what comes after stand alone.
            gone = connection.needs_rollback or not connection.connection.in_transaction
            if gone or (job.error is not None and wrote):
                raise _LeftBehind

    def _refuse_broken(self, jobs: list[_Job]) -> None:
        """Where SQLite gave up the whole transaction (a full disk), Django would roll back without a word."""
        if connection.needs_rollback:
            error = next((job.error for job in jobs if job.error is not None), None)
            raise OperationalError("The shared transaction was lost.") from error

    def _fail_first(self) -> list[_Job]:
        """The transaction never began: the leader alone fails, the rest try with a leader of their own."""
        with self._mutex:
            return [self._queue.popleft()]

    def _hand_over(self, jobs: list[_Job]) -> None:
        for job in jobs:
            job.done = True
        with self._mutex:
            heir = self._queue[0] if self._queue else None
            self._led = heir is not None
        if heir is not None:
            heir.turn.release()
        for job in jobs:
            job.turn.release()


_shared = SharedCommits()
