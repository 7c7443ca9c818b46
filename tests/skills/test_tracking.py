"""Uses of skills over HTTP: started, finished once, given up by time, brought in."""

from typing import Any
from unittest.mock import ANY
from urllib.parse import quote

import pytest
from django.conf import LazySettings

from skills_app import tasks, tracking
from skills_app.models import SkillInvocation
from tests.conftest import Api, said

from .conftest import Clock, assert_counts_are_right, finish, start, use

ODD_NAMES = [
    "a/b",
    "v1.2",
    'say "hi"',
    "two words",
    "数据库 修复",
    "50% off?",
    "#x&y=z+1",
    "../..",
    "émoji 🎯",
    "a\nb",
]


def test_a_start_and_its_end_tell_everything(clock: Clock, api: Api) -> None:
    session = api.open()
    response = api.post(
        "/skills/invocations",
        {
            "skill_name": "lint",
            "session_id": session,
            "workflow_path": "quick",
            "workflow_phase": "setup",
            "user_query": "fix type errors",
            "alternatives_considered": ["format", "test"],
            "selection_rank": 1,
        },
    )
    assert response.status_code == 201
    started = {
        "id": ANY,
        "skill_name": "lint",
        "session_id": session,
        "state": "running",
        "completed": False,
        "invoked_at": "2026-05-01T12:00:00+00:00",
        "finished_at": None,
        "duration_seconds": None,
        "workflow_path": "quick",
        "workflow_phase": "setup",
        "user_query": "fix type errors",
        "alternatives_considered": ["format", "test"],
        "selection_rank": 1,
        "follow_up_actions": [],
        "error_type": None,
    }
    assert said(response) == started
    clock.move(seconds=2.5)
    ended = finish(api, said(response)["id"], follow_up_actions=["git commit", "git push"])
    assert ended == started | {
        "state": "completed",
        "completed": True,
        "finished_at": "2026-05-01T12:00:02.500000+00:00",
        "duration_seconds": 2.5,
        "follow_up_actions": ["git commit", "git push"],
    }
    assert said(api.get(f"/skills/invocations/{ended['id']}")) == ended
    assert said(api.get("/skills/invocations")) == {"items": [ended], "next_cursor": None}


def test_failed_abandoned_and_completed_are_three_things(
    clock: Clock, api: Api, settings: LazySettings
) -> None:
    use(api)
    use(api, completed=False, error_type="Timeout")
    start(api)
    clock.move(hours=24)
    assert tasks.abandon_late() == 0
    clock.move(seconds=1)
    start(api)
    assert tasks.abandon_late() == 1
    (metrics,) = said(api.get("/skills/metrics"))["items"]
    counts = {
        name: metrics[f"{name}_invocations"] for name in ("completed", "failed", "abandoned", "running")
    }
    assert counts == {"completed": 1, "failed": 1, "abandoned": 1, "running": 1}
    assert metrics["completion_rate"] == pytest.approx(100 / 3)
    assert metrics["total_invocations"] == 4
    assert_counts_are_right()


def test_the_time_limit_is_a_setting_and_batches_go_on(
    clock: Clock, api: Api, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ABANDON_AFTER_HOURS = 2
    monkeypatch.setattr(tracking, "BATCH", 2)
    for _ in range(5):
        start(api)
    clock.move(hours=2, seconds=1)
    assert tasks.abandon_late() == 5
    assert tasks.abandon_late() == 0
    assert_counts_are_right()


def test_finishing_twice_is_refused_however_it_ended(clock: Clock, api: Api) -> None:
    done, late = use(api)["id"], start(api)
    clock.move(hours=25)
    tasks.abandon_late()
    for uid in (done, late):
        for completed in (True, False):
            response = api.post(f"/skills/invocations/{uid}/complete", {"completed": completed})
            assert response.status_code == 409
    assert_counts_are_right()


def test_a_repeat_with_its_key_starts_and_ends_once(api: Api) -> None:
    body = {"skill_name": "lint", "user_query": "fix it"}
    first = api.post("/skills/invocations", body, Idempotency_Key="s")
    again = api.post("/skills/invocations", body, Idempotency_Key="s")
    assert (again.status_code, said(again)) == (201, said(first))
    assert again.headers["Idempotent-Replayed"] == "true"
    path = f"/skills/invocations/{said(first)['id']}/complete"
    ended = api.post(path, {"completed": True}, Idempotency_Key="e")
    assert said(api.post(path, {"completed": True}, Idempotency_Key="e")) == said(ended)
    assert SkillInvocation.objects.count() == 1
    assert said(api.get("/skills/summary"))["completed_invocations"] == 1


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_name_is_any_text(api: Api, name: str) -> None:
    use(api, name, workflow_phase=name, error_type=name, completed=False, follow_up_actions=[name])
    metrics = said(api.get(f"/skills/metrics/{quote(name, safe='')}"))
    assert metrics["skill_name"] == name
    assert metrics["common_errors"] == metrics["follow_up_actions"] == {name: 1}
    listed = said(api.get(f"/skills/invocations?skill_name={quote(name, safe='')}"))["items"]
    assert [each["workflow_phase"] for each in listed] == [name]
    for kind in ("metrics", "workflow", "heatmap", "trends"):
        assert api.get(f"/skills/report?kind={kind}").status_code == 200
    if "/" in name and ".." not in name:
        assert said(api.get(f"/skills/metrics/{quote(name)}")) == metrics


def test_a_name_that_nobody_used_is_not_found(api: Api, stranger: Api) -> None:
    use(api, "lint")
    assert api.get("/skills/metrics/lin").status_code == 404
    assert stranger.get("/skills/metrics/lint").status_code == 404
    assert said(stranger.get("/skills/metrics"))["items"] == []


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "skill_name"),
    ({"skill_name": ""}, "skill_name"),
    ({"skill_name": "x" * 513}, "skill_name"),
    ({"skill_name": 5}, "skill_name"),
    ({"skill_name": "x", "selection_rank": 0}, "selection_rank"),
    ({"skill_name": "x", "selection_rank": True}, "selection_rank"),
    ({"skill_name": "x", "alternatives_considered": "y"}, "alternatives_considered"),
    ({"skill_name": "x", "alternatives_considered": ["y"] * 101}, "alternatives_considered"),
    ({"skill_name": "x", "invoked_at": "yesterday"}, "invoked_at"),
    ({"skill_name": "x", "invoked_at": "2026-05-01T12:06:00+00:00"}, "invoked_at"),
    ({"skill_name": "x", "invoked_at": "1969-01-01T00:00:00Z"}, "invoked_at"),
    ({"skill_name": "x", "user_query": "q" * 65_537}, "user_query"),
    ({"skill_name": "x", "mood": "good"}, "mood"),
]


@pytest.mark.parametrize(("body", "field"), WRONG)
def test_a_wrong_start_is_named_and_stores_nothing(clock: Clock, api: Api, body: Any, field: str) -> None:
    response = api.post("/skills/invocations", body)
    assert response.status_code == 422
    assert ["body", field] in [error["loc"][:2] for error in said(response)["errors"]]
    assert not SkillInvocation.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "completed"),
        ({"completed": "yes"}, "completed"),
        ({"completed": True, "duration_seconds": -1}, "duration_seconds"),
        ({"completed": True, "duration_seconds": 1e12}, "duration_seconds"),
        ({"completed": True, "follow_up_actions": [""]}, "follow_up_actions"),
    ],
)
def test_a_wrong_end_leaves_it_running(api: Api, body: Any, field: str) -> None:
    uid = start(api)
    response = api.post(f"/skills/invocations/{uid}/complete", body)
    assert response.status_code == 422
    assert ["body", field] in [error["loc"][:2] for error in said(response)["errors"]]
    assert said(api.get(f"/skills/invocations/{uid}"))["state"] == "running"


def test_another_agents_session_and_invocation_do_not_exist(api: Api, stranger: Api) -> None:
    session, uid = api.open(), start(api)
    body = {"skill_name": "x", "session_id": session}
    assert stranger.post("/skills/invocations", body).status_code == 404
    assert stranger.post(f"/skills/invocations/{uid}/complete", {"completed": True}).status_code == 404
    assert stranger.get(f"/skills/invocations/{uid}").status_code == 404
    for path in (
        "/skills/metrics",
        "/skills/workflow",
        "/skills/report",
        "/skills/summary",
        "/skills/invocations",
    ):
        assert stranger.get(f"{path}?session={session}").status_code == 404
    assert stranger.get(f"/sessions/{session}/skills").status_code == 404
    assert stranger.post("/skills/recommend", {"query": "x", "session_id": session}).status_code == 404


def test_a_given_time_is_read_in_the_agents_zone_and_a_given_duration_stands(
    clock: Clock, api: Api, admin: Api
) -> None:
    admin.send("PATCH", "/agent", {"timezone": "Europe/Berlin"})
    uid = start(api, invoked_at="2026-05-01T13:00:00")
    assert said(api.get(f"/skills/invocations/{uid}"))["invoked_at"] == "2026-05-01T11:00:00+00:00"
    assert finish(api, uid, duration_seconds=3)["duration_seconds"] == 3.0
    # A clock that is ahead of ours by less than five minutes.
    assert use(api, invoked_at="2026-05-01T12:04:00Z")["duration_seconds"] == 0.0


FINISHED = {
    "skill_name": "lint",
    "invoked_at": "2026-04-01T10:00:00+00:00",
    "completed": True,
    "duration_seconds": 4,
    "user_query": "old query",
    "workflow_phase": "setup",
    "source_session": "abc",
}


def imported(api: Api, *items: dict[str, Any]) -> Any:
    response = api.post("/skills/invocations/import", {"invocations": list(items)})
    return said(response) if response.status_code == 200 else response.status_code


def test_importing_twice_adds_nothing(api: Api) -> None:
    other = FINISHED | {
        "source_session": "def",
        "state": "abandoned",
        "completed": False,
        "duration_seconds": None,
    }
    assert imported(api, FINISHED, other) == {"added": 2, "known": 0}
    assert imported(api, other, FINISHED, FINISHED | {"skill_name": "test"}) == {"added": 1, "known": 2}
    assert imported(api, FINISHED | {"invoked_at": "2026-04-01T12:00:00+02:00"}) == {"added": 0, "known": 1}
    summary = said(api.get("/skills/summary"))
    assert [summary[f"{name}_invocations"] for name in ("completed", "abandoned", "running")] == [2, 1, 0]
    assert said(api.post("/skills/recommend", {"query": "old query"}))["items"][0]["similarity_score"] > 0.99
    assert_counts_are_right()


def test_an_import_with_one_wrong_item_stores_none(api: Api, stranger: Api) -> None:
    nothing_said = {name: FINISHED[name] for name in ("skill_name", "invoked_at")}
    assert imported(api, FINISHED, nothing_said) == 422
    assert imported(api, FINISHED, FINISHED | {"state": "failed"}) == 422
    assert imported(api, FINISHED, FINISHED | {"session_id": stranger.open()}) == 404
    assert imported(api) == 422
    assert not SkillInvocation.objects.exists()


def test_lists_page_without_gaps(clock: Clock, api: Api) -> None:
    session = api.open()
    made = []
    for number in range(5):
        made.append(start(api, f"s{number}", session_id=session))
        clock.move(seconds=number % 2)
    seen: list[str] = []
    cursor = ""
    while True:
        page = said(api.get(f"/skills/invocations?limit=2{cursor}"))
        seen += [each["id"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert sorted(seen) == sorted(made)
    first = said(api.get(f"/sessions/{session}/skills?limit=3"))
    rest = said(api.get(f"/sessions/{session}/skills?cursor={first['next_cursor']}"))
    assert [each["id"] for each in first["items"] + rest["items"]] == seen[::-1]
    names: list[str] = []
    cursor = ""
    for _ in range(3):
        page = said(api.get(f"/skills/metrics?limit=2{cursor}"))
        names += [each["skill_name"] for each in page["items"]]
        cursor = f"&cursor={page['next_cursor']}"
    assert names == [f"s{number}" for number in range(5)]


def test_an_erased_session_takes_its_skills_along_and_the_counts_follow(clock: Clock, api: Api) -> None:
    gone, stays = api.open("gone"), api.open("stays")
    for session in (gone, stays):
        use(api, session_id=session, user_query="secret words", workflow_path="quick", selection_rank=1)
        if session == gone:
            use(api, "only", session_id=session, completed=False, error_type="E")
        start(api, session_id=session)
        clock.move(hours=1)
    assert api.send("DELETE", f"/sessions/{gone}").status_code == 204
    assert SkillInvocation.objects.count() == 2
    (metrics,) = said(api.get("/skills/metrics"))["items"]
    assert (metrics["completed_invocations"], metrics["running_invocations"]) == (1, 1)
    assert metrics["workflow_paths"] == {"quick": 1}
    assert metrics["first_invoked"] == "2026-05-01T13:00:00+00:00"
    assert metrics["sessions"] == 1
    assert (
        len(said(api.post("/skills/recommend", {"query": "secret words", "group": "invocation"}))["items"])
        == 1
    )
    assert_counts_are_right()


def test_a_report_names_the_skills_that_failed(clock: Clock, api: Api, stranger: Api) -> None:
    session = api.open()
    api.append(session, {"role": "user", "content": "hi"})
    use(api, "lint", True)
    use(api, "lint", False, session_id=session)
    use(api, "lint", False, session_id=session)
    use(api, "test", True)
    use(stranger, "theirs", False)
    start(api, "lint")
    report = said(api.post("/reflections", {"since": "24h"}))
    assert report["stats"]["skills"] == [
        {"skill": "lint", "failures": 2, "uses": 3, "session_ids": [session]}
    ]
    assert "### Failing Skills\n- lint: 2 of 3 uses failed" in report["markdown"]
    clock.move(days=2)
    api.append(api.open(), {"role": "user", "content": "later"})
    assert said(api.post("/reflections", {"since": "24h"}))["stats"]["skills"] == []
