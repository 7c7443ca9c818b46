"""Every write of a request goes through `commit`: durable when it returns, exact at any concurrency.

On SQLite there is one writer at a time and a commit costs an fsync. Requests that arrive together therefore
share one transaction: the first of them leads, takes along whatever is queued when the lock is its own, and
answers all after the one commit. A request that fails is rolled back alone: where it had written something,
all of them run again, each behind a savepoint, which everyone would otherwise have to pay for. On PostgreSQL,
each request has its own transaction, but for single appends, which `storage/round_trips.py` sends together.

What `transaction.on_commit` was given runs in the thread of the request it belongs to. It comes after the
truth is stored: when it fails, that is logged and the request has still succeeded.
"""

import contextvars
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar, cast

import structlog
from django.db import OperationalError, connection, transaction

from sessions_app.together import Together, Waiting

T = TypeVar("T")
Hooks = list[Callable[[], object]]

log = structlog.get_logger(__name__)

MOST_PER_COMMIT = 256
# As long as a few requests take to come this far, and a small part of a commit.
GATHER_SECONDS = 0.001


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


class _Job(Waiting):
    __slots__ = ("context", "error", "hooks", "result", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self.work = work
        # The leader's thread runs it, under the request id of the request it belongs to.
        self.context = contextvars.copy_context()
        self.result: Any = None
        self.error: BaseException | None = None
        self.hooks: Hooks = []

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


class SharedCommits(Together[_Job]):
    def run(self, work: Callable[[], Any]) -> Any:
        job = _Job(work)
        self.see_to(job)
        return job.outcome()

    def _do(self) -> list[_Job]:
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
            # Nothing was committed: whoever was in it must hear that, and nobody waits for ever. Where the
            # transaction never began the leader alone fails, the rest try with a leader of their own.
            jobs = jobs or self._take_first()
            for job in jobs:
                job.result, job.error = None, error
        return jobs

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


_shared = SharedCommits(MOST_PER_COMMIT, gather=GATHER_SECONDS)
