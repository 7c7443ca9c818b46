"""Resolves and sweeps of many processes at once, and a worker killed in the middle of a sweep."""

import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from gateway_app import sweep
from sessions_app.models import Agent, ConsolidationJob, Session
from tests.conftest import Api
from tests.operations.conftest import redis_number
from tests.operations.daybook import until

from .crew import PROCESSES, Call, Crew, Said
from .worker import Worker, broker_of_the_tests

THREADS = 6
SWEEP = "gateway_app.tasks.sweep_sessions"
LONG_AGO = timedelta(days=3)


def resolving(chat: str, **options: bool) -> Call:
    return ("POST", "/resolve", {"source": {"platform": "telegram", "chat_id": chat}, **options}, {})


def make_due() -> None:
    """As if everybody had last been heard of days ago."""
    then = timezone.now() - LONG_AGO
    Session.objects.update(created_at=then, active_at=then, reset_check_at=then + timedelta(minutes=1))


def test_a_new_source_gets_one_session_however_many_resolve_it(crew: Crew, api: Api) -> None:
    answers = crew.send_all(api.secret, 10, [resolving("new")] * 200)

    assert Counter(answer.status for answer in answers) == {201: 1, 200: 199}
    assert Counter(answer.body["created"] for answer in answers) == {True: 1, False: 199}
    assert len({answer.body["session"]["id"] for answer in answers}) == 1
    assert Session.objects.count() == 1


def test_a_sweep_under_resolves_makes_one_reset_and_one_notice(
    crew: Crew, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats = [str(number) for number in range(40)]
    old = {
        answer.body["session"]["key"]: answer.body["session"]["id"]
        for answer in crew.send_all(api.secret, THREADS, [resolving(chat) for chat in chats])
    }
    make_due()
    # Small batches, so that sweep and resolves take turns.
    monkeypatch.setattr(sweep, "BATCH", 2)
    answers = swept_meanwhile(crew, api, [resolving(chat) for chat in chats for _ in range(6)])

    assert {answer.status for answer in answers} == {200, 201}
    told = Counter(answer.body["session"]["key"] for answer in answers if answer.body["was_auto_reset"])
    assert told == dict.fromkeys(old, 1)
    assert {answer.body["reset_reason"] for answer in answers} == {"idle", None}
    assert {answer.body["previous_id"] for answer in answers} == set(old.values())
    for key, previous in old.items():
        ended, current = Session.objects.filter(key=key).order_by("pk")
        assert (str(ended.uid), ended.end_reason) == (previous, "idle")
        assert (current.previous_id, current.ended_at) == (ended.uid, None)


def swept_meanwhile(crew: Crew, api: Api, calls: list[Call]) -> list[Said]:
    """The answers to the calls, with sweeps of this process all the while."""
    answers: list[Said] = []
    sending = threading.Thread(target=lambda: answers.extend(crew.send_all(api.secret, THREADS, calls)))
    sending.start()
    while sending.is_alive():
        sweep.step(timezone.now())
    return answers


def test_whoever_asks_for_a_new_session_at_once_leaves_one_open(crew: Crew, api: Api) -> None:
    calls = [resolving("new", force_new=True)] * (PROCESSES * THREADS * 3)
    answers = crew.send_all(api.secret, THREADS, calls)

    assert {answer.status for answer in answers} <= {200, 201}
    created = [answer.body["session"]["id"] for answer in answers if answer.body["created"]]
    assert Session.objects.count() == len(set(created)) == len(created)
    assert Session.objects.filter(ended_at__isnull=True).count() == 1
    assert not any(answer.body["was_auto_reset"] for answer in answers)
    # One chain: nobody has two successors.
    followed = Session.objects.exclude(previous=None).values_list("previous", flat=True)
    assert len(set(followed)) == len(followed) == len(created) - 1


def test_reopened_by_many_at_once_one_is_open(crew: Crew, api: Api) -> None:
    crew.send_all(api.secret, 1, [resolving("new", force_new=True)] * 12)
    sessions = [str(uid) for uid in Session.objects.values_list("uid", flat=True)]
    calls: list[Call] = [("POST", f"/sessions/{session}/reopen", {}, {}) for session in sessions * 3]
    answers = crew.send_all(api.secret, THREADS, calls)

    assert {answer.status for answer in answers} == {200}
    [current] = Session.objects.filter(ended_at__isnull=True)
    assert str(current.uid) in sessions
    reasons = Session.objects.exclude(pk=current.pk).values_list("end_reason", flat=True)
    assert set(reasons) <= {"reset", "switched"}


SESSIONS = 8_000


@pytest.fixture
def due(transactional_db: None) -> None:
    agent = Agent.objects.create(name="main")
    then = timezone.now() - LONG_AGO
    Session.objects.bulk_create(
        Session(
            agent=agent,
            key=f"agent:main:telegram:dm:{number}",
            platform="telegram",
            chat_type="dm",
            created_at=then,
            active_at=then,
            reset_check_at=then + timedelta(seconds=number),
            last_seq=1,
            messages_count=1,
        )
        for number in range(SESSIONS)
    )


@pytest.fixture
def worker(due: None, tmp_path: Path, worker_id: str) -> Iterator[Worker]:
    worker = Worker(tmp_path / "worker.log", broker_of_the_tests(redis_number(worker_id)))
    yield worker
    worker.end()


def ended() -> dict[int, object]:
    return dict(Session.objects.filter(ended_at__isnull=False).values_list("pk", "ended_at"))


def test_a_worker_killed_in_a_sweep_loses_nothing_and_the_next_sweep_ends_the_rest(worker: Worker) -> None:
    worker.ask(SWEEP)
    until(Session.objects.filter(ended_at__isnull=False).exists, "the sweep to begin")
    worker.kill()

    before = ended()
    assert 0 < len(before) < SESSIONS, "the sweep was over before the worker was killed"
    assert len(before) % sweep.BATCH == 0
    queued = ConsolidationJob.objects.values_list("session_id", flat=True)
    assert set(queued) == before.keys()

    worker.start()
    worker.ask(SWEEP)
    until(lambda: not Session.objects.filter(ended_at__isnull=True).exists(), "the next sweep")
    after = ended()
    assert len(after) == SESSIONS
    assert before.items() <= after.items()
    assert set(Session.objects.values_list("end_reason", flat=True)) == {"idle"}
    # The worker goes on to condense them, first ended first: none is missing among those that still wait.
    waiting = set(ConsolidationJob.objects.values_list("session_id", flat=True))
    assert len(waiting) > SESSIONS // 2
    assert waiting == set(sorted(after)[-len(waiting) :])
