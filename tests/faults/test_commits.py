"""Requests that share one transaction: each hears what became of it, whatever happens to the others."""

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from sessions_app.commits import SharedCommits, commit
from sessions_app.models import Agent
from tests.operations.daybook import until

pytestmark = pytest.mark.django_db(transaction=True)

Work = Callable[[], Any]
WAIT = 10

shares = pytest.mark.only_on("sqlite")


class Together(SharedCommits):
    """Counts its transactions, and brings works into one by keeping the line closed until all stand in it."""

    def __init__(self, most: int = 64) -> None:
        super().__init__(most)
        self.transactions = 0

    def _lead(self) -> None:
        self.transactions += 1
        super()._lead()

    def outcomes(self, *works: Work) -> list[Any]:
        """What each returned or raised; the first of them leads."""
        found: list[Any] = [None] * len(works)
        inside, leave = threading.Event(), threading.Event()

        def hold_the_line() -> None:
            inside.set()
            assert leave.wait(WAIT)

        def ask(place: int, work: Work) -> None:
            try:
                found[place] = self.run(work)
            except BaseException as error:  # noqa: BLE001 - it is what the test looks at
                found[place] = error
            finally:
                connections.close_all()

        def start(place: int, work: Work) -> threading.Thread:
            thread = threading.Thread(target=ask, args=(place, work), name=f"request {place}")
            thread.start()
            return thread

        found.append(None)
        threads = [start(len(works), hold_the_line)]
        assert inside.wait(WAIT), found[-1]
        for place, work in enumerate(works):
            threads.append(start(place, work))
            until(lambda: len(self._queue) == place + 1, "the request to stand in line")  # noqa: B023
        leave.set()
        for thread in threads:
            thread.join(WAIT)
            assert not thread.is_alive(), "a request was left waiting"
        return found[:-1]


def make(name: str) -> Work:
    return lambda: Agent.objects.create(name=name).name


def make_and_raise(name: str, error: BaseException) -> Work:
    def work() -> None:
        Agent.objects.create(name=name)
        raise error

    return work


def stored() -> set[str]:
    return set(Agent.objects.values_list("name", flat=True))


def kinds(outcomes: list[Any]) -> list[type]:
    return [type(outcome) for outcome in outcomes]


@shares
def test_requests_that_wait_share_one_transaction() -> None:
    shared = Together()
    assert shared.outcomes(make("a"), make("b"), make("c")) == ["a", "b", "c"]
    assert shared.transactions == 2, "the one that held the line, and the one of all others"
    assert stored() == {"a", "b", "c"}


@pytest.mark.parametrize("place", [0, 1, 2])
@shares
def test_one_that_fails_is_rolled_back_alone(place: int) -> None:
    refused = ValueError("no")
    works = [make("a"), make("b")]
    works.insert(place, make_and_raise("bad", refused))
    outcomes = Together().outcomes(*works)
    assert outcomes.pop(place) is refused
    assert outcomes == ["a", "b"]
    assert stored() == {"a", "b"}


@shares
def test_a_broken_constraint_costs_only_its_own_request() -> None:
    outcomes = Together().outcomes(make("a"), make("a"), make("b"))
    assert [outcomes[0], outcomes[2]] == ["a", "b"]
    assert type(outcomes[1]).__name__ == "IntegrityError"
    assert stored() == {"a", "b"}


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), GeneratorExit()])
@shares
def test_a_leader_that_is_ended_leaves_nobody_waiting(error: BaseException) -> None:
    shared = Together()
    assert shared.outcomes(make_and_raise("bad", error), make("a"), make("b")) == [error, "a", "b"]
    assert stored() == {"a", "b"}
    assert shared.outcomes(make("c")) == ["c"]


@shares
def test_a_commit_that_fails_is_told_to_all_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = BaseDatabaseWrapper.commit
    full = OperationalError("database or disk is full")

    def failing(self: BaseDatabaseWrapper) -> None:
        if shared.transactions == 2:
            raise full
        real(self)

    shared = Together()
    monkeypatch.setattr(BaseDatabaseWrapper, "commit", failing)
    outcomes = shared.outcomes(make("a"), make_and_raise("b", ValueError()), make("c"))
    monkeypatch.undo()

    assert outcomes == [full] * 3
    assert stored() == set()
    assert shared.outcomes(make("d")) == ["d"]


@shares
def test_nobody_is_told_of_success_when_the_transaction_was_lost() -> None:
    """SQLite gives up a whole transaction when the disk is full, also what other requests did in it."""

    def lose() -> None:
        connection.connection.rollback()
        raise OperationalError("database or disk is full")

    outcomes = Together().outcomes(make("a"), lose, make("b"))
    assert kinds(outcomes) == [OperationalError] * 3
    assert stored() == set()


@shares
def test_a_leader_that_cannot_begin_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    real = BaseDatabaseWrapper.set_autocommit
    locked = OperationalError("database is locked")

    def failing(self: BaseDatabaseWrapper, autocommit: bool, **options: Any) -> None:
        if shared.transactions == 2 and not autocommit:
            raise locked
        real(self, autocommit, **options)

    shared = Together()
    monkeypatch.setattr(BaseDatabaseWrapper, "set_autocommit", failing)
    outcomes = shared.outcomes(make("a"), make("b"), make("c"))

    assert outcomes == [locked, "b", "c"]
    assert stored() == {"b", "c"}


@shares
def test_no_more_than_a_handful_share_one_commit() -> None:
    shared = Together(most=2)
    assert shared.outcomes(*[make(name) for name in "abcde"]) == list("abcde")
    assert shared.transactions == 1 + 3
    assert stored() == set("abcde")


@shares
def test_what_follows_a_commit_runs_in_the_thread_it_belongs_to() -> None:
    seen: dict[str, tuple[str, bool]] = {}

    def work(name: str, fails: bool = False) -> Work:
        def follow() -> None:
            seen[name] = (threading.current_thread().name, name in stored())
            if fails:
                raise ConnectionError("the broker is away")

        def run() -> str:
            Agent.objects.create(name=name)
            transaction.on_commit(follow)
            return name

        return run

    def undone() -> None:
        work("gone")()
        raise ValueError

    outcomes = Together().outcomes(work("a", fails=True), undone, work("b"))
    assert [outcomes[0], outcomes[2]] == ["a", "b"]
    assert seen == {"a": ("request 0", True), "b": ("request 2", True)}


def test_a_follow_up_that_fails_does_not_take_back_the_answer() -> None:
    def follow() -> None:
        raise ConnectionError("the broker is away")

    def work() -> str:
        transaction.on_commit(follow)
        return str(make("a")())

    assert commit(work) == "a"
    assert stored() == {"a"}


@shares
def test_each_work_runs_under_the_context_of_its_request() -> None:
    """So that a line in the log carries the id of the request that it is about."""
    request_id = contextvars.ContextVar("request_id", default="none")

    class Named(Together):
        def run(self, work: Work) -> Any:
            request_id.set(threading.current_thread().name)
            return super().run(work)

    assert Named().outcomes(request_id.get, request_id.get) == ["request 0", "request 1"]


def test_a_commit_inside_a_transaction_joins_it() -> None:
    def outer() -> None:
        commit(make("inner"))
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - it is the one raised above
        commit(outer)
    assert stored() == set()
