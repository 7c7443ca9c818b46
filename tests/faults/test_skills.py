"""Many processes start and finish skills at once: each is finished once and counted once."""

from collections import Counter

from sessions_app.models import Agent
from skills_app.models import SkillInvocation
from skills_app.rollups import recount
from tests.conftest import Api, said

from .crew import Call, Crew

THREADS = 4


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
