"""Workflow, trends, reports and pictures, with figures worked out by hand."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from skills_app import likelihood, pictures, reports, trend_rules
from skills_app import workflow_rules as rules
from skills_app.rollup_rules import Cell
from tests.conftest import Api, said

from .conftest import Clock, start, use

NASTY = "<script>alert('1')</script>&\"x\"\n]]>"
DAY = date(2026, 5, 1)


def cell(completed: int, failed: int = 0, abandoned: int = 0) -> Cell:
    return Cell(completed=completed, failed=failed, abandoned=abandoned)


def test_wilson_is_as_in_the_books() -> None:
    assert likelihood.wilson(8, 10) == pytest.approx((49.02, 94.33), abs=0.01)
    assert likelihood.wilson(0, 10) == pytest.approx((0, 27.75), abs=0.01)
    assert likelihood.wilson(0, 0) == (0, 100)


@pytest.mark.parametrize(
    ("rate", "level"),
    [(0.2, "MONITOR"), (0.3, "MONITOR"), (0.31, "WARNING"), (0.5, "WARNING"), (0.51, "CRITICAL")],
)
def test_levels_of_bottlenecks(rate: float, level: str) -> None:
    assert rules.level(rate) == level


def test_a_bottleneck_needs_three_finished_and_a_fifth_lost() -> None:
    cells = {
        ("a", "few"): cell(0, 2),
        ("a", "fine"): cell(9, 1, 1),
        ("a", "stuck"): cell(3, 1),
        ("b", "stuck"): cell(1, 0, 1),
        ("a", ""): cell(0, 9),
    }
    (found,) = rules.bottlenecks(cells)
    assert (found["workflow_phase"], found["abandonment_rate"], found["level"]) == ("stuck", 2 / 6, "WARNING")


def test_transitions_join_neighbours_of_one_session() -> None:
    def step(session: int, phase: str, skill: str, seconds: int) -> rules.Step:
        return rules.Step(
            session, phase, skill, datetime(2026, 5, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        )

    steps = [
        step(1, "a", "x", 0), step(1, "b", "y", 10), step(1, "c", "z", 40),
        step(2, "a", "x", 0), step(2, "b", "w", 20), step(2, "b", "y", 25),
    ]  # fmt: skip
    assert rules.transitions(steps) == [
        {"from_phase": "a", "to_phase": "b", "count": 2, "most_common_skill": "w", "avg_seconds": 15.0},
        {"from_phase": "b", "to_phase": "b", "count": 1, "most_common_skill": "y", "avg_seconds": 5.0},
        {"from_phase": "b", "to_phase": "c", "count": 1, "most_common_skill": "z", "avg_seconds": 30.0},
    ]


def test_the_workflow_over_http(clock: Clock, api: Api) -> None:
    session = api.open()
    for skill, phase, completed in (("a", "setup", True), ("b", "run", False), ("a", "run", True)):
        use(api, skill, completed, workflow_phase=phase, session_id=session, duration_seconds=2)
        clock.move(seconds=10)
    use(api, "c", True)
    found = said(api.get("/skills/workflow"))
    assert found["heatmap"] == {
        "phases": ["run", "setup"],
        "skills": ["a", "b"],
        "cells": [[100.0, 100.0], [0.0, None]],
    }
    assert found["recommendations"] == [
        {"workflow_phase": "run", "skill_name": "a", "completion_rate": 100.0},
        {"workflow_phase": "setup", "skill_name": "a", "completion_rate": 100.0},
    ]
    first = found["effectiveness"][0]
    assert (first["workflow_phase"], first["skill_name"], first["avg_duration_seconds"]) == ("run", "a", 2.0)
    assert (first["ci_low"], first["ci_high"]) == pytest.approx((20.65, 100), abs=0.01)
    assert [(each["from_phase"], each["to_phase"], each["avg_seconds"]) for each in found["transitions"]] == [
        ("run", "run", 10.0),
        ("setup", "run", 10.0),
    ]
    assert said(api.get(f"/skills/workflow?session={session}")) == found
    assert said(api.get("/skills/workflow?until=2026-04-30"))["effectiveness"] == []


def days(*counts: tuple[int, int]) -> dict[date, Cell]:
    """(completed, failed) of each day, the last of them DAY."""
    first = DAY - timedelta(days=len(counts) - 1)
    return {first + timedelta(days=n): cell(*pair) for n, pair in enumerate(counts) if sum(pair)}


@pytest.mark.parametrize(
    ("counts", "rate", "volume"),
    [
        ([(n, 9 - n) for n in range(10)], "improving", "steady"),
        ([(9 - n, n) for n in range(10)], "declining", "steady"),
        ([(5, 5)] * 10, "steady", "steady"),
        ([(n, n) for n in range(10)], "steady", "rising"),
        ([(9 - n, 9 - n) for n in range(10)], "steady", "falling"),
        ([(1, 0)] * 3, "too_little_data", "too_little_data"),
    ],
)
def test_trends_by_their_tests(counts: list[tuple[int, int]], rate: str, volume: str) -> None:
    found = trend_rules.trend(days(*counts), DAY - timedelta(days=len(counts) - 1), DAY)
    assert (found["rate_trend"], found["volume_trend"]) == (rate, volume)


def test_a_trend_as_in_the_books() -> None:
    # 2 of 10, 5 of 10, 8 of 10 on three days: z = 6 / sqrt(0.25 * 20).
    assert likelihood.rate_trend([(0, 2, 10), (1, 5, 10), (2, 8, 10)]) == pytest.approx(6 / 5**0.5)
    assert likelihood.rate_trend([(0, 5, 5), (1, 5, 5)]) is None
    assert likelihood.p_value(1.959964) == pytest.approx(0.05)


def test_a_day_out_of_line_with_the_skills_own_past() -> None:
    usual = [(9, 1)] * 10
    found = trend_rules.trend(days(*usual, (1, 9)), DAY - timedelta(days=10), DAY)["anomalies"]
    assert [(each["day"], each["kind"], each["value"], each["usual"]) for each in found] == [
        ("2026-05-01", "rate", 10.0, 90.0)
    ]
    found = trend_rules.trend(days(*usual, (90, 10)), DAY - timedelta(days=10), DAY)["anomalies"]
    assert [(each["kind"], each["value"], each["usual"]) for each in found] == [("volume", 100.0, 10.0)]
    assert trend_rules.trend(days(*usual, (9, 1)), DAY - timedelta(days=10), DAY)["anomalies"] == []


def test_the_usual_is_learnt_before_the_period_and_told_for_its_days_alone() -> None:
    past = [*[(9, 1)] * 10, (1, 9), *[(9, 1)] * 5, (1, 9)]
    found = trend_rules.trend(days(*past), DAY - timedelta(days=2), DAY)
    assert [(each["day"], each["kind"]) for each in found["anomalies"]] == [("2026-05-01", "rate")]
    assert found["anomalies"][0]["usual"] == pytest.approx(100 * 136 / 160)
    assert [each["finished"] for each in found["days"]] == [10, 10, 10]


def test_a_short_period_knows_what_is_usual(clock: Clock, api: Api) -> None:
    for _ in range(8):
        for number in range(6):
            use(api, "lint", number > 0)
        use(api, "gone")
        clock.move(days=1)
    for _ in range(6):
        use(api, "lint", False)
    (item,) = said(api.get("/skills/trends?days=1"))["items"]
    assert (item["skill_name"], len(item["days"])) == ("lint", 1)
    assert [(each["kind"], each["value"]) for each in item["anomalies"]] == [("rate", 0.0)]


@pytest.mark.parametrize("path", ["trends", "report?kind=trends", "metrics", "invocations", "workflow"])
def test_a_day_before_all_uses_is_refused(api: Api, path: str) -> None:
    response = api.get(f"/skills/{path}{'&' if '?' in path else '?'}until=1969-12-31")
    assert response.status_code == 422
    assert said(response)["errors"][0]["loc"] == ["query", "until"]
    assert api.get("/skills/trends?until=1970-01-01&days=366").status_code == 200


def test_who_fails_lately() -> None:
    assert trend_rules.failing(days((1, 2)), DAY) == {
        "finished": 3, "completion_rate": pytest.approx(100 / 3), "completion_rate_before": None
    }  # fmt: skip
    assert trend_rules.failing(days((0, 2)), DAY) is None
    assert trend_rules.failing(days((8, 2)), DAY) is None
    fell = trend_rules.failing(days((99, 1), *[(0, 0)] * 7, (12, 8)), DAY)
    assert fell is not None
    assert fell["completion_rate_before"] == 99.0


def test_trends_over_http(clock: Clock, api: Api) -> None:
    one, two = api.open("1"), api.open("2")
    use(api, "old", invoked_at="2026-01-01T00:00:00Z")
    for session in (one, one, two):
        use(api, "bad", False, session_id=session, alternatives_considered=["never", "old"])
    use(api, "good", session_id=one)
    found = said(api.get("/skills/trends?days=7"))
    assert [each["skill_name"] for each in found["items"]] == ["bad", "good"]
    assert found["items"][0]["days"][-1] == {
        "day": "2026-05-01", "finished": 3, "completed": 0, "completion_rate": 0.0
    }  # fmt: skip
    assert found["never_used"] == [{"skill_name": "never", "considered": 3}]
    assert [each["skill_name"] for each in found["unused_lately"]] == ["old"]
    assert [each["skill_name"] for each in found["failing_lately"]] == ["bad"]
    assert found["adoption"] == {
        "sessions": 2,
        "skills": [
            {"skill_name": "bad", "sessions": 2, "share": 100.0},
            {"skill_name": "good", "sessions": 1, "share": 50.0},
        ],
    }
    report = api.get("/skills/report?kind=trends").content.decode()
    for words in ("bad: 3 uses", "never: never used, considered 3 times", "good: 1 sessions (50.0%)"):
        assert words in report
    assert api.get("/skills/report?kind=trends&since=2020-01-01").status_code == 422


def test_text_reports_have_the_sections_of_their_source(clock: Clock, api: Api) -> None:
    for kind, empty in (
        ("workflow", "No workflow data available yet."),
        ("heatmap", "No workflow data available for heatmap."),
    ):
        assert empty in api.get(f"/skills/report?kind={kind}").content.decode()
    session = api.open()
    use(api, "lint", workflow_phase="setup", workflow_path="quick", follow_up_actions=["commit"],
        session_id=session, duration_seconds=1.5)  # fmt: skip
    for _ in range(3):
        use(api, "test", False, workflow_phase="run", session_id=session)
    answer = api.get("/skills/report")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    metrics = answer.content.decode()
    for words in (
        "Skills Metrics Report", "Total Skills Tracked: 2", "Total Invocations: 4",
        "Overall Completion Rate: 25.0%",
        "Average Duration: 1.5s", "Most Used Skills:\n  test: 3 invocations (0.0% complete, 0.0s avg)",
        "Workflow Path Preferences:\n  lint:\n    quick: 1 uses", "Common Follow-up Actions:\n  commit: 1",
    ):  # fmt: skip
        assert words in metrics
    workflow = api.get(f"/skills/report?kind=workflow&session={session}").content.decode()
    for words in (
        "Workflow Correlation Report", f"Session: {session}", "Generated: 2026-05-01 12:00:00",
        "1. Skill Effectiveness by Workflow Phase", "Phase: SETUP", "2. Workflow Bottlenecks",
        "run: 100.0% abandonment (bottleneck score: 1.00) 🔴 CRITICAL", "3. Workflow Phase Transitions",
        "run ──[2x, test]──> run", "4. Recommendations by Phase", "🎯 SETUP: Use lint (100.0% success rate)",
    ):  # fmt: skip
        assert words in workflow
    heat = api.get("/skills/report?kind=heatmap").content.decode()
    assert "Skill Usage Heatmap by Workflow Phase" in heat
    rows = {line.split()[0]: line.split()[1:] for line in heat.splitlines() if line[:4] in ("lint", "test")}
    assert rows == {"lint": ["-", "█", "100%"], "test": ["·", "0%", "-"]}


def drawn(svg: str) -> ET.Element:
    assert "<script" not in svg
    picture = ET.fromstring(svg)  # noqa: S314 - our own
    assert picture.attrib["role"] == "img"
    assert picture.attrib["aria-label"]
    return picture


def test_pictures_are_safe_whatever_the_names_are() -> None:
    heat = {"phases": [NASTY, "run"], "skills": ["lint", NASTY], "cells": [[95.0, None], [0.0, 55.0]]}
    picture = drawn(pictures.heatmap_svg(heat))
    classes = [part.attrib["class"] for part in picture.iter() if part.tag.endswith("rect")]
    assert classes == ["l90", "none", "l0", "l50"]
    titles = [part.text for part in picture.iter() if part.tag.endswith("title")]
    assert "lint, run: not used" in titles
    moves = [
        {"from_phase": a, "to_phase": b, "count": 2, "most_common_skill": NASTY, "avg_seconds": 1.0}
        for a, b in ((NASTY, "run"), ("run", "run"))
    ]
    assert (
        len([part for part in drawn(pictures.transitions_svg(moves)).iter() if part.tag.endswith("circle")])
        == 2
    )
    trend: dict[str, Any] = trend_rules.trend(days((9, 1), (0, 0), (1, 9)), DAY - timedelta(days=2), DAY)
    drawn(pictures.trend_svg({"skill_name": NASTY, **trend}))
    line = drawn(pictures.sparkline_svg([1.0, None, 2.0, 3.0], NASTY))
    assert len([part for part in line.iter() if part.tag.endswith("polyline")]) == 2


def test_pictures_of_nothing_are_pictures() -> None:
    drawn(pictures.heatmap_svg({"phases": [], "skills": [], "cells": []}))
    drawn(pictures.transitions_svg([]))
    drawn(pictures.sparkline_svg([], "nothing"))
    empty = {"skill_name": "x", "days": [], "anomalies": [], "rate_trend": "steady", "volume_trend": "steady"}
    drawn(pictures.trend_svg(empty))


def test_the_admin_shows_them(api: Api) -> None:
    from django.contrib.auth.models import User
    from django.test import Client

    uid = start(api, NASTY, session_id=api.open())
    use(api)
    client = Client()
    client.force_login(User.objects.create_superuser("operator"))
    page = client.get("/admin/skills_app/skillinvocation/")
    assert page.status_code == 200
    assert "<script>alert" not in page.content.decode()
    assert client.get(f"/admin/skills_app/skillinvocation/?q={uid}").status_code == 200
    assert client.get("/admin/skills_app/skillrollup/").status_code == 200


def test_a_long_name_stays_on_its_line() -> None:
    assert reports.line("a\nb\x00 c") == "a b c"
    assert reports.line("\n") == "'\\n'"
