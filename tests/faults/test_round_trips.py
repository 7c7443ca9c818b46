"""Statements that arrive together on PostgreSQL: one transaction, and each its own answer or error."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, OperationalError, connection, connections

from config.wsgi import application
from sessions_app.models import Message, Session
from sessions_app.storage import round_trips
from sessions_app.storage.round_trips import BEGIN, COMMIT, RoundTrips
from tests.api.test_shortcuts import send
from tests.conftest import Api
from tests.operations.daybook import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.only_on("postgres")]

WAIT = 20
Ask = tuple[str, Sequence[Any], int]
TOUCH = "UPDATE sessions_app_session SET title = %s WHERE id = %s RETURNING title"


class Held(RoundTrips):
    """Keeps the first who leads from going until all stand in line."""

    def __init__(self, before: Sequence[bytes], after: Sequence[bytes]) -> None:
        super().__init__(before, after)
        self.leave = threading.Event()
        self.sizes: list[int] = []

    def _do(self) -> list[Any]:
        assert self.leave.wait(WAIT)
        jobs = super()._do()
        self.sizes.append(len(jobs))
        return jobs

    def begin(self, *asks: Ask) -> tuple[list[Any], list[threading.Thread]]:
        found: list[Any] = [None] * len(asks)

        def ask(place: int) -> None:
            statement, parameters, row = asks[place]
            try:
                found[place] = self.rows(statement, parameters, row)
            except Exception as error:  # noqa: BLE001 - it is what the test looks at
                found[place] = error
            finally:
                connections.close_all()

        threads = []
        for place in range(len(asks)):
            threads.append(threading.Thread(target=ask, args=(place,)))
            threads[-1].start()
            until(lambda: len(self._queue) == place + 1, "the request to stand in line")  # noqa: B023
        self.leave.set()
        return found, threads

    def outcomes(self, *asks: Ask) -> list[Any]:
        found, threads = self.begin(*asks)
        for thread in threads:
            thread.join(WAIT)
            assert not thread.is_alive(), "a request was left waiting"
        return found


@pytest.fixture
def held() -> Held:
    return Held(BEGIN, (COMMIT,))


@pytest.fixture
def elsewhere() -> Iterator["psycopg.Connection[Any]"]:
    """A connection of somebody else."""
    known: Any = connection.get_connection_params()
    wanted = {name: known[name] for name in ("dbname", "user", "password", "host", "port") if name in known}
    with psycopg.connect(**wanted) as other:
        yield other


@pytest.fixture
def pks(api: Api) -> list[int]:
    return [Session.objects.get(uid=api.open(f"chat:{number}")).pk for number in range(3)]


def test_writes_that_wait_together_are_one_transaction(held: Held, pks: list[int]) -> None:
    where = (
        "UPDATE sessions_app_session SET title = %s WHERE id = %s RETURNING title, pg_current_xact_id()::text"
    )
    found = held.outcomes(*((where, (f"title {pk}", pk), pk) for pk in pks))
    assert [rows[0][0] for rows in found] == [f"title {pk}" for pk in pks]
    assert len({rows[0][1] for rows in found}) == 1
    assert held.sizes == [3]


def test_a_statement_that_fails_is_told_to_who_sent_it_and_takes_nobody_along(
    held: Held, pks: list[int]
) -> None:
    wrong = ("UPDATE sessions_app_session SET last_seq = 7 WHERE id = %s", (pks[1],), pks[1])
    first, failed, last = held.outcomes((TOUCH, ("a", pks[0]), pks[0]), wrong, (TOUCH, ("c", pks[2]), pks[2]))
    assert (first, last) == ([("a",)], [("c",)])
    assert isinstance(failed, DatabaseError)
    assert "session_counts_add_up" in str(failed)


def test_a_row_that_somebody_holds_keeps_nobody_else_waiting(
    held: Held, pks: list[int], elsewhere: "psycopg.Connection[Any]"
) -> None:
    elsewhere.execute("SELECT id FROM sessions_app_session WHERE id = %s FOR UPDATE", (pks[0],))
    found, threads = held.begin((TOUCH, ("a", pks[0]), pks[0]), (TOUCH, ("b", pks[1]), pks[1]))
    threads[1].join(WAIT)
    assert found == [None, [("b",)]]
    elsewhere.rollback()
    threads[0].join(WAIT)
    assert found == [[("a",)], [("b",)]]


def test_a_lost_connection_is_told_to_all_and_nothing_is_sent_twice(held: Held, pks: list[int]) -> None:
    fatal = ("SELECT pg_terminate_backend(pg_backend_pid())", (), pks[0])
    found = held.outcomes(fatal, (TOUCH, ("b", pks[1]), pks[1]))
    assert [type(each) for each in found] == [OperationalError, OperationalError]
    with connection.cursor() as cursor:
        cursor.execute("SELECT title FROM sessions_app_session WHERE id = %s", (pks[1],))
        assert cursor.fetchall() == [("",)]


def test_the_connection_goes_back_clean_after_a_failure(held: Held, pks: list[int]) -> None:
    wrong = ("SELECT 1 / %s::int4", (0,), pks[0])
    held.outcomes(wrong, wrong)
    assert round_trips.reads.rows("SELECT %s::int4", (5,), pks[0]) == [(5,)]
    assert round_trips.writes.rows(TOUCH, ("x", pks[0]), pks[0]) == [("x",)]


def test_reads_that_wait_together_each_get_their_own(pks: list[int]) -> None:
    held = Held((), ())
    asks: list[Ask] = [("SELECT %s::int4 + generate_series(0, 1)", (pk,), pk) for pk in pks]
    assert held.outcomes(*asks) == [[(pk,), (pk + 1,)] for pk in pks]


def test_appends_from_many_threads_are_stored_once_and_in_order(api: Api) -> None:
    sessions = [api.open(f"chat:{number}") for number in range(3)]
    each, threads, statuses = 20, 6, []
    headers = {"HTTP_AUTHORIZATION": f"Bearer {api.secret}", "CONTENT_TYPE": "application/json"}

    def write(number: int) -> None:
        path = f"/api/v1/sessions/{sessions[number % 3]}/messages"
        for place in range(each):
            body = b'{"role": "user", "content": "%d of %d"}' % (place, number)
            said = send(application, "POST", path, "", body, **headers)
            statuses.append(said.status[:3])
        connections.close_all()

    running = [threading.Thread(target=write, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert statuses == ["201"] * (each * threads)
    for session in sessions:
        stored = Message.objects.filter(session__uid=session).order_by("seq")
        assert [message.seq for message in stored] == list(range(1, each * threads // 3 + 1))
        texts = [message.body for message in stored]
        assert len(set(texts)) == len(texts)
