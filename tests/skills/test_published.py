"""Every answer has the fields that the document publishes, and no other: empty and full."""

import json
from typing import Any

import pytest
from django.http import HttpResponse
from pydantic import TypeAdapter

from sessions_app.schemas import Page
from skills_app import schemas, trend_schemas
from tests.conftest import Api

from .conftest import Clock, start, use

ANSWERS: dict[str, Any] = {
    "/skills/invocations": Page[schemas.InvocationOut],
    "/skills/metrics": Page[schemas.MetricsOut],
    "/skills/summary": schemas.SummaryOut,
    "/skills/workflow": schemas.WorkflowOut,
    "/skills/trends": trend_schemas.TrendsOut,
    "/skills/export": schemas.ExportOut,
    "/sessions/{session}/skills": schemas.SessionSkillsOut,
}


def body(answer: HttpResponse) -> Any:
    return json.loads(b"".join(answer) if answer.streaming else answer.content)


def busy(api: Api, clock: Clock) -> None:
    """A history in which every list of every answer has something in it."""
    session = api.open()
    for day in range(9):
        for number in range(3):
            use(
                api, "lint", day < 8, session_id=session, workflow_phase=f"p{number}", workflow_path="quick",
                error_type="E", follow_up_actions=["commit"], selection_rank=1, user_query="fix it",
                alternatives_considered=["never"], duration_seconds=1,
            )  # fmt: skip
        clock.move(days=1)
    for _ in range(90):
        use(api, "lint", False, workflow_phase="p0")
    use(api, "old", invoked_at="2026-01-01T00:00:00Z")
    start(api, "running", session_id=session)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("path", ANSWERS)
def test_an_answer_is_as_published(clock: Clock, api: Api, path: str, full: bool) -> None:
    if full:
        busy(api, clock)
    found = body(api.get(path.format(session=api.open())))
    TypeAdapter(ANSWERS[path]).validate_python(found, extra="forbid")
    if full:
        assert [name for name, value in found.items() if value == [] and name != "recommendations"] == []


def test_a_recommendation_is_as_published(clock: Clock, api: Api) -> None:
    busy(api, clock)
    for phase in (None, "p1"):
        found = body(api.post("/skills/recommend", {"query": "fix it", "workflow_phase": phase}))
        assert found["items"]
        TypeAdapter(schemas.RecommendationsOut).validate_python(found, extra="forbid")


@pytest.mark.parametrize("name", [".", "..", "lint"])
def test_a_name_that_no_address_holds_is_asked_for_beside_it(api: Api, name: str) -> None:
    use(api, name)
    use(api, "other")
    items = body(api.get(f"/skills/metrics?skill_name={name}"))["items"]
    assert [each["skill_name"] for each in items] == [name]


def test_the_export_has_what_its_source_has(api: Api) -> None:
    use(api, "lint", duration_seconds=2)
    use(api, "lint", duration_seconds=4)
    use(api, "lint", False, duration_seconds=100)
    skill = body(api.get("/skills/export"))["skills"]["lint"]
    assert (skill["total_duration_seconds"], skill["avg_duration_seconds"]) == (6.0, 3.0)
