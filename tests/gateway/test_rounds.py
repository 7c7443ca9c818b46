import threading

from sessions_app.rounds import Rounds
from tests.operations.daybook import until


class Work:
    """Counts its rounds, and stays in each until it is let go."""

    def __init__(self, *, fails: bool = False) -> None:
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)
        self.count = 0
        self._fails = fails

    def __call__(self, stopping: threading.Event) -> None:
        self.count += 1
        self.begun.release()
        self.go_on.acquire(timeout=60)
        if self._fails:
            raise ZeroDivisionError


def test_asking_does_not_wait_and_whatever_is_asked_meanwhile_is_one_more_round() -> None:
    work = Work()
    rounds = Rounds(work)
    rounds.ask()
    assert work.begun.acquire(timeout=60)
    for _ in range(5):
        rounds.ask()
    work.go_on.release(2)
    assert work.begun.acquire(timeout=60)
    until(lambda: rounds._thread is None, "the thread to end")
    assert work.count == 2


def test_a_round_that_fails_is_not_the_last() -> None:
    work = Work(fails=True)
    rounds = Rounds(work)
    work.go_on.release(2)
    for _ in range(2):
        rounds.ask()
        assert work.begun.acquire(timeout=60)
        until(lambda: rounds._thread is None, "the thread to end")
    assert work.count == 2


def test_a_process_that_ends_lets_the_round_end_and_begins_no_other() -> None:
    seen: list[bool] = []
    begun = threading.Event()

    def work(stopping: threading.Event) -> None:
        begun.set()
        seen.append(stopping.wait(60))

    rounds = Rounds(work)
    rounds.ask()
    assert begun.wait(60)
    rounds.ask()
    rounds.finish(60)
    rounds.ask()
    until(lambda: rounds._thread is None, "the thread to end")
    assert seen == [True]
