"""Statements of requests that arrive together share a round trip to PostgreSQL, and writes a commit.

A statement alone costs a connection, a wait of its own, and if it writes a transaction and a flush of the
log; many at once make the server change between as many processes. What waits while one round trip is under
way therefore goes with the next, as one pipeline on a connection of the pool. Writes are one transaction
there, in the order of their rows, so that two processes that write the same rows cannot wait for each other,
and without waiting long for a row that somebody else holds. When one statement fails all are taken back, and
each goes alone.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import pq, waiting
from psycopg.abc import PQGen
from psycopg.waiting import Ready, Wait

from sessions_app.storage import prepared
from sessions_app.together import Together, Waiting

Connection = psycopg.Connection[Any]
Results = list[pq.abc.PGresult]

MOST = 64
# Well below the server's `deadlock_timeout`: it is always this side that gives way.
BEGIN = (b"BEGIN", b"SET LOCAL lock_timeout = '100ms'")
COMMIT, ROLLBACK = b"COMMIT", b"ROLLBACK"
WAKE_SECONDS = 1.0


class RoundTrips(Together["_Asked"]):
    def __init__(self, before: Sequence[bytes], after: Sequence[bytes]) -> None:
        super().__init__(MOST)
        self._before = before
        self._after = after

    def rows(self, statement: str, parameters: Sequence[Any], row: Any) -> list[Any]:
        """What a statement about `row` finds; a write is committed when this returns."""
        asked = _Asked(prepared.written(statement, parameters), row)
        self.see_to(asked)
        if asked.error is not None:
            raise asked.error
        return prepared.loaded(asked.result if asked.result is not None else _alone(asked.statement))

    def _do(self) -> list["_Asked"]:
        jobs = self._take()
        try:
            if len(jobs) == 1:
                jobs[0].result = _alone(jobs[0].statement)
            else:
                self._ask_together(sorted(jobs, key=lambda job: job.row))
        except Exception as error:  # noqa: BLE001 - raised again in the threads that wait
            for job in jobs:
                job.error = error
        return jobs

    def _ask_together(self, jobs: Sequence["_Asked"]) -> None:
        with _connection() as connection:
            results = _exchange(connection, self._before, jobs, self._after)
            if connection.pgconn.status != pq.ConnStatus.OK:
                # Perhaps it was committed: whoever asked must hear that nobody knows.
                raise psycopg.OperationalError("The connection was lost before the answer came.")
            if all(prepared.is_good(result) for result in results):
                for job, result in zip(jobs, results[len(self._before) :], strict=False):
                    job.result = result


class _Asked(Waiting):
    __slots__ = ("error", "result", "row", "statement")

    def __init__(self, statement: prepared.Statement, row: Any) -> None:
        super().__init__()
        self.statement = statement
        self.row = row
        # Neither: it was taken back together with others, and goes alone.
        self.result: pq.abc.PGresult | None = None
        self.error: Exception | None = None


reads = RoundTrips((), ())
writes = RoundTrips(BEGIN, (COMMIT,))


def _alone(statement: prepared.Statement) -> pq.abc.PGresult:
    with _connection() as connection:
        return prepared.answer(connection, statement)


@contextmanager
def _connection() -> Iterator[Connection]:
    database: Any = connections[DEFAULT_DB_ALIAS]
    with database.wrap_database_errors:
        connection = database.pool.getconn()
        try:
            if not connection.autocommit:
                connection.autocommit = True
            yield connection
        finally:
            database.pool.putconn(connection)


def _exchange(
    connection: Connection, before: Sequence[bytes], jobs: Sequence[_Asked], after: Sequence[bytes]
) -> Results:
    pgconn = connection.pgconn
    names = [prepared.name_of(connection, job.statement) for job in jobs]
    pgconn.enter_pipeline_mode()
    for command in before:
        pgconn.send_query_params(command, None)
    for name, job in zip(names, jobs, strict=True):
        values: Any = job.statement.values
        pgconn.send_query_prepared(name, values, job.statement.formats, pq.Format.BINARY)
    for command in after:
        pgconn.send_query_params(command, None)
    pgconn.pipeline_sync()
    results = waiting.wait(_answers(pgconn), pgconn.socket, interval=WAKE_SECONDS)
    pgconn.exit_pipeline_mode()
    if pgconn.transaction_status != pq.TransactionStatus.IDLE:
        pgconn.exec_(ROLLBACK)
    return results


def _answers(pgconn: pq.abc.PGconn) -> PQGen[Results]:
    while pgconn.flush():
        if (yield Wait.RW) & Ready.R:
            pgconn.consume_input()
    results: Results = []
    while True:
        while pgconn.is_busy():
            yield Wait.R
            pgconn.consume_input()
        result = pgconn.get_result()
        if result is None:
            continue
        if result.status == pq.ExecStatus.PIPELINE_SYNC:
            return results
        results.append(result)
