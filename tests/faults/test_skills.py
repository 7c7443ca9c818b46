"""Many processes start and finish skills at once: each is finished once and counted once."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.db import connection
from django.utils import timezone

from sessions_app.commits import commit
from sessions_app.models import Agent
from skills_app import tracking
from skills_app.models import SkillInvocation
from skills_app.recounting import rebuild, recount
from tests.conftest import Api, said

from .crew import Call, Crew

THREADS = 4
COMPLETION: Call = (
    "POST",
    "/skills/invocations/{last}/complete",
    {"completed": True, "follow_up_actions": ["next"]},
    {},
)


@contextmanager
def repeated(step: Callable[[], object]) -> Iterator[None]:
    """Beside what is done meanwhile, and once more after it."""
    over, faults = threading.Event(), []

    def run() -> None:
        try:
            while not over.is_set():
                step()
            step()
        except Exception as fault:  # noqa: BLE001 - raised again where it is waited for
            faults.append(fault)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if faults:
        raise faults[0]


def starting(number: int, session: str) -> Call:
    body = {
        "skill_name": f"s{number % 3}",
        "workflow_phase": f"p{number % 2}",
        "session_id": session,
        "selection_rank": 1,
        "user_query": f"query number {number}",
    }
    return ("POST", "/skills/invocations", body, {})


def ending(uid: str, completed: bool) -> Call:
    body = {"completed": completed, "error_type": None if completed else "E", "follow_up_actions": ["next"]}
    return ("POST", f"/skills/invocations/{uid}/complete", body, {})


def test_counts_are_exact_at_any_concurrency(crew: Crew, api: Api) -> None:
    sessions = [api.open(str(number)) for number in range(2)]
    started = crew.send_all(api.secret, THREADS, [starting(n, sessions[n % 2]) for n in range(60)])
    assert {answer.status for answer in started} == {201}
    # Each is finished three times over; one of the three is heard.
    calls = [ending(answer.body["id"], n % 3 > 0) for n, answer in enumerate(started) for _ in range(3)]
    ended = crew.send_all(api.secret, THREADS, calls)
    assert Counter(answer.status for answer in ended) == {200: 60, 409: 120}
    assert recount(Agent.objects.get(name="main").pk) == []
    done = SkillInvocation.objects.filter(state="completed").count()
    summary = said(api.get("/skills/summary"))
    assert (summary["total_invocations"], summary["completed_invocations"]) == (60, done)
    assert {each["sessions"] for each in said(api.get("/skills/metrics"))["items"]} == {2}


def test_what_one_process_stored_every_other_recommends_at_once(crew: Crew, api: Api) -> None:
    asking: Call = (
        "POST",
        "/skills/recommend",
        {"query": "query number", "group": "invocation", "limit": 100},
        {},
    )
    for wave in (1, 2):
        crew.send_all(api.secret, 1, [starting(n, api.open()) for n in range(6)])
        answers = crew.send(api.secret, [[asking]], [[asking]], [[asking]])
        assert {len(plan[0][0].body["items"]) for plan in answers} == {6 * wave}


def importing(dice: Random, number: int, session: str) -> Call:
    item = {
        "skill_name": f"s{number % 3}",
        "invoked_at": f"2026-01-01T00:00:{number % 5:02}Z",
        "state": dice.choice(["completed", "failed", "abandoned"]),
        "session_id": session,
        "follow_up_actions": ["next", "next"],
    }
    return ("POST", "/skills/invocations/import", {"invocations": [item]}, {})


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_exact_after_a_random_history_of_many_processes(crew: Crew, api: Api, seed: int) -> None:
    """Ends, imports, new starts, erasures and the time-out meet each other in the same sessions."""
    dice = Random(seed)  # noqa: S311 - it makes up a history
    sessions = [api.open(str(number)) for number in range(4)]
    doomed = sessions[:2]
    late = (datetime.now(UTC) - timedelta(hours=25)).isoformat()
    begun = [starting(n, dice.choice(sessions)) for n in range(80)]
    for _, _, body, _ in begun[::4]:
        body["invoked_at"] = late
    started = crew.send_all(api.secret, THREADS, begun)
    calls = [ending(answer.body["id"], dice.random() < 0.6) for answer in started for _ in range(2)]
    calls += [starting(n, dice.choice(sessions)) for n in range(20)]
    calls += [importing(dice, n, dice.choice(sessions)) for n in range(20)]
    dice.shuffle(calls)
    for session in doomed:
        calls.insert(dice.randrange(len(calls)), ("DELETE", f"/sessions/{session}", None, {}))
    with repeated(lambda: tracking.abandon_step(timezone.now())):
        answers = crew.send_all(api.secret, THREADS, calls)
    assert {answer.status for answer in answers} <= {200, 201, 204, 404, 409}
    assert not SkillInvocation.objects.filter(session__uid__in=doomed).exists()
    assert recount(Agent.objects.get(name="main").pk) == []


def test_a_recount_among_many_writers_finds_no_difference(crew: Crew, api: Api) -> None:
    session, agent = api.open(), Agent.objects.get(name="main").pk
    calls = [each for n in range(15) for each in (starting(n, session), COMPLETION)]
    found: list[list[str]] = []
    with repeated(lambda: found.append(recount(agent))):
        crew.send(api.secret, *[[calls] * 2] * 3)
    assert len(found) > 1
    assert [each for each in found if each] == []
    with repeated(lambda: commit(lambda: rebuild(agent))):
        crew.send(api.secret, *[[calls] * 2] * 3)
    assert recount(agent) == []
