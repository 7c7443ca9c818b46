"""The counts are right whatever happened: compared with a recount, and with plain lists."""

import json
import statistics
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.models import Agent, Session
from sessions_app.sessions import erase
from skills_app import durations, metrics, recounting, tracking
from skills_app.models import SkillInvocation, SkillRollup
from skills_app.selection import Selection
from skills_app.tracking import Use
from tests.conftest import Api, said

from .conftest import assert_counts_are_right, use

BEGIN = datetime(2026, 5, 1, 22, tzinfo=UTC)
NAMES = st.sampled_from(["lint", "a.b", 'q"', "数据"])
LABELS = st.sampled_from(["", "x", "y z"])
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("start"),
            NAMES,
            LABELS,
            st.sampled_from([None, 1, 2]),
            st.integers(0, 5),
            st.integers(0, 2),
        ),
        st.tuples(st.just("end"), st.integers(0, 20), st.booleans(), LABELS, st.integers(0, 10**9)),
        st.tuples(st.just("late"), st.integers(1, 30)),
        st.tuples(st.just("import"), NAMES, LABELS, st.integers(0, 3), st.booleans()),
        st.tuples(st.just("erase"), st.integers(0, 2)),
    ),
    max_size=25,
)


class RandomHistories(TestCase):
    @settings(max_examples=40, deadline=None)
    @given(STEPS)
    def test_a_recount_finds_no_difference(self, steps: list[Any]) -> None:
        history = History()
        for step in steps:
            getattr(history, step[0])(*step[1:])
        assert recounting.recount(history.caller.agent_id) == []
        history.check()


class History:
    """Does the steps, and knows by plain counting what must come out."""

    def __init__(self) -> None:
        agent = Agent.objects.create(name="main")
        self.caller = Caller(1, agent.pk, "main", "UTC", frozenset({"write"}))
        self.sessions = [Session.objects.create(agent=agent, key=str(n)) for n in range(2)]
        self.now = BEGIN

    def start(self, name: str, phase: str, rank: int | None, hours: int, session: int) -> None:
        self.now += timedelta(hours=hours)
        place = self.sessions[session].pk if session < len(self.sessions) else None
        begun = Use(name, self.now, place, phase * 2, phase, "", ("other",), rank)
        commit(lambda: tracking.start(self.caller, begun, None))

    def end(self, which: int, completed: bool, error: str, microseconds: int) -> None:
        running = SkillInvocation.objects.filter(state="running").order_by("pk")[which : which + 1]
        for uid in running.values_list("uid", flat=True):
            tracking.complete(
                self.caller,
                uid,
                completed=completed,
                follow_up_actions=["a", "a", error or "b"],
                error_type=error,
                duration_us=microseconds,
                now=self.now,
            )

    def late(self, hours: int) -> None:
        self.now += timedelta(hours=hours)
        tracking.abandon_step(self.now)

    def imports(self, name: str, phase: str, hour: int, completed: bool) -> None:
        at = BEGIN - timedelta(hours=hour)
        state = "completed" if completed else "abandoned"
        done = Use(name, at, None, "", phase, state=state, finished_at=at, import_key=f"{name}{hour}")
        tracking.bring_in(self.caller, [done, done])

    def erase(self, number: int) -> None:
        if number < len(self.sessions):
            erase(self.caller, self.sessions.pop(number).uid)

    def check(self) -> None:
        shown = {each["skill_name"]: each for each in metrics.all_metrics(Selection(self.caller))}
        for name in {one.skill_name for one in SkillInvocation.objects.all()} | shown.keys():
            uses = list(SkillInvocation.objects.filter(skill_name=name))
            done = [one for one in uses if one.state == "completed"]
            finished = [one for one in uses if one.state != "running"]
            assert shown[name]["total_invocations"] == len(uses)
            assert shown[name]["completed_invocations"] == len(done)
            rate = 100 * len(done) / len(finished) if finished else 0
            assert shown[name]["completion_rate"] == pytest.approx(rate)
            spent = [one.duration_us / 1e6 for one in done if one.duration_us is not None]
            assert shown[name]["avg_duration_seconds"] == pytest.approx(
                statistics.mean(spent) if spent else 0
            )
            if spent:
                median = sorted(spent)[(len(spent) - 1) // 2]
                assert shown[name]["median_duration_seconds"] == pytest.approx(median, rel=0.0201, abs=0.001)
            times = [one.invoked_at.isoformat() for one in uses]
            assert (shown[name]["first_invoked"], shown[name]["last_invoked"]) == (min(times), max(times))
            assert shown[name]["sessions"] == len({one.session_id for one in finished if one.session_id})


# `import` is a word of the language.
setattr(History, "import", History.imports)


@given(st.lists(st.integers(0, 10**13), min_size=1, max_size=60), st.sampled_from([0.5, 0.95]))
def test_a_quantile_is_within_two_percent(values: list[int], share: float) -> None:
    halves = values[::2], values[1::2]
    counted: list[durations.Histogram] = [{}, {}]
    for place, half in enumerate(halves):
        for value in half:
            durations.add_to(counted[place], {durations.class_of(value): 1})
    rank = max(1, -(-len(values) * round(share * 100) // 100))
    exact = sorted(values)[rank - 1] / 1e6
    durations.add_to(counted[0], counted[1])
    found = durations.quantile(counted[0], share)
    assert found == pytest.approx(exact, rel=0.0201, abs=0.001)
    assert durations.quantile({}, share) is None


def test_metrics_worked_out_by_hand(api: Api) -> None:
    session = api.open()
    use(api, duration_seconds=1, selection_rank=1, workflow_path="quick", session_id=session)
    use(
        api,
        duration_seconds=3,
        selection_rank=2,
        workflow_path="quick",
        follow_up_actions=["commit", "commit"],
    )
    use(
        api, completed=False, duration_seconds=100, selection_rank=1, error_type="Timeout", session_id=session
    )
    found = said(api.get("/skills/metrics/lint"))
    assert found["completion_rate"] == pytest.approx(200 / 3)
    assert found["avg_duration_seconds"] == 2.0
    assert found["median_duration_seconds"] == pytest.approx(1, rel=0.02)
    assert found["p95_duration_seconds"] == pytest.approx(3, rel=0.02)
    assert found["workflow_paths"] == {"quick": 2}
    assert found["common_errors"] == {"Timeout": 1}
    assert found["follow_up_actions"] == {"commit": 2}
    assert found["avg_selection_rank"] == pytest.approx(4 / 3)
    assert found["recommendation_success_rate"] == 50.0
    assert found["sessions"] == 1


def test_the_command_finds_and_repairs_what_is_wrong(api: Api) -> None:
    use(api, workflow_phase="setup", session_id=api.open())
    told = StringIO()
    call_command("recompute_skills", stdout=told)
    assert told.getvalue() == "0 differences.\n"
    SkillRollup.objects.update(completed=7)
    with pytest.raises(CommandError, match="2 differences"):
        call_command("recompute_skills", stdout=told)
    assert "'lint' in phase 'setup', ever: 7 completed" in told.getvalue()
    call_command("recompute_skills", "--repair", stdout=StringIO())
    assert said(api.get("/skills/metrics/lint"))["completed_invocations"] == 1
    assert_counts_are_right()


def test_metrics_read_a_row_for_each_skill_and_phase(api: Api, django_assert_max_num_queries: Any) -> None:
    for _ in range(6):
        use(api, workflow_phase="a")
    with django_assert_max_num_queries(8):
        assert said(api.get("/skills/metrics"))["items"][0]["total_invocations"] == 6
    assert SkillRollup.objects.count() == 2


def test_a_period_counts_its_days_alone(api: Api) -> None:
    for day in ("2026-04-01", "2026-04-02", "2026-04-03"):
        use(api, invoked_at=f"{day}T23:59:59Z", workflow_path=day)
    found = said(api.get("/skills/metrics?since=2026-04-02&until=2026-04-02"))["items"][0]
    assert (found["total_invocations"], found["workflow_paths"]) == (1, {"2026-04-02": 1})
    assert said(api.get("/skills/summary?since=2026-04-02"))["total_invocations"] == 2
    assert said(api.get("/skills/summary?until=2026-03-31"))["total_invocations"] == 0
    assert api.get("/skills/metrics?until=9999-12-31").status_code == 200


def test_empty_and_full_have_one_form(api: Api) -> None:
    def forms() -> list[set[str]]:
        session = f"/sessions/{api.open()}/skills"
        paths = ("/skills/summary", session, "/skills/workflow", "/skills/export", "/skills/trends")
        read = [api.get(path) for path in paths]
        bodies = [b"".join(answer) if answer.streaming else answer.content for answer in read]
        return [set(json.loads(body)) for body in bodies]

    empty = forms()
    assert said(api.get("/skills/summary")) == {
        "total_skills": 0,
        "total_invocations": 0,
        "completed_invocations": 0,
        "failed_invocations": 0,
        "abandoned_invocations": 0,
        "running_invocations": 0,
        "overall_completion_rate": 0.0,
        "most_used_skill": None,
        "most_used_count": 0,
        "avg_duration_seconds": 0.0,
        "skills_by_usage": [],
    }
    use(api, session_id=api.open(), workflow_phase="a", user_query="q")
    assert forms() == empty
    summary = said(api.get("/skills/summary"))
    assert (summary["most_used_skill"], summary["skills_by_usage"]) == ("lint", [["lint", 1]])
