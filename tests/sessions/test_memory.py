"""The long-term memory and the reports, over HTTP."""

from typing import Any

import pytest

from sessions_app.memory_notes import noted
from sessions_app.models import Agent, MemoryRevision, Reflection
from tests.conftest import Api, said
from tests.sessions.conversations import assistant, user


def put(who: Api, content: str, version: int) -> Any:
    return who.send("PUT", "/memory", {"content": content, "version": version})


def test_it_starts_empty_and_keeps_every_version(admin: Api, reader: Api) -> None:
    assert said(reader.get("/memory")) == {"version": 0, "content": "", "author": None, "updated_at": None}
    assert said(put(admin, "# Ada\n", 0))["version"] == 1
    assert said(put(admin, "# Ada\nShe is 36.\n", 1))["version"] == 2
    assert said(reader.get("/memory"))["content"] == "# Ada\nShe is 36.\n"
    page = said(reader.get("/memory/revisions?limit=1"))
    assert [item["version"] for item in page["items"]] == [2]
    page = said(reader.get(f"/memory/revisions?cursor={page['next_cursor']}"))
    assert ([item["version"] for item in page["items"]], page["next_cursor"]) == ([1], None)
    assert said(reader.get("/memory/revisions/2"))["diff"].splitlines()[2:] == [
        "@@ -1 +1,2 @@",
        " # Ada",
        "+She is 36.",
    ]
    assert said(reader.get("/memory/revisions/1"))["content"] == "# Ada\n"


def test_a_stale_writer_is_refused(admin: Api) -> None:
    put(admin, "one", 0)
    for version in (0, 2):
        refused = put(admin, "two", version)
        assert refused.status_code == 409
    assert said(admin.get("/memory"))["content"] == "one"
    assert MemoryRevision.objects.count() == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content": "x"},
        {"content": 1, "version": 0},
        {"content": "x", "version": -1},
        {"content": "x" * 65_537, "version": 0},
    ],
)
def test_a_wrong_body_is_refused(admin: Api, body: Any) -> None:
    assert admin.send("PUT", "/memory", body).status_code == 422


def test_only_an_admin_writes_and_nobody_reads_anothers(api: Api, admin: Api, stranger: Api) -> None:
    assert put(api, "x", 0).status_code == 403
    put(admin, "ours", 0)
    assert said(stranger.get("/memory"))["version"] == 0
    assert stranger.get("/memory/revisions/1").status_code == 404
    for version in ("0", "2", "x", "9" * 20, "-1"):
        assert admin.get(f"/memory/revisions/{version}").status_code == 404


@pytest.mark.parametrize(
    ("before", "remember", "forget", "after"),
    [
        ("", ["Ada is 36."], [], "## Learned\n- Ada is 36."),
        (
            "# Ada\n- She is 36",
            ["She is 36.", "She codes."],
            [],
            "# Ada\n- She is 36\n\n## Learned\n- She codes.",
        ),
        ("## Learned\n- Ada is 36.\n- Ada codes.", [], ["- Ada is 36."], "## Learned\n- Ada codes."),
        # What people wrote is theirs.
        ("Ada is 36.", [], ["Ada is 36."], "Ada is 36."),
        ("## Learned\n- a\n# Mine\n- b", ["c"], ["b"], "# Mine\n- b\n\n## Learned\n- a\n- c"),
        ("", ["# forged\nheading"], [], "## Learned\n- forged heading"),
    ],
)
def test_what_a_model_notes(before: str, remember: list[str], forget: list[str], after: str) -> None:
    assert noted(before, remember, forget, 10_000) == after


def test_the_oldest_note_makes_room() -> None:
    assert (
        noted("mine\n## Learned\n- old one\n- newer", ["newest"], [], 40)
        == "mine\n\n## Learned\n- newer\n- newest"
    )


def test_a_report_is_written_kept_listed_and_read(api: Api, reader: Api, stranger: Api) -> None:
    session = api.open()
    api.append(session, user("How is the weather?"), assistant("Fine.", confidence=0.2))
    api.append(session, {"kind": "error", "error": "it broke"})
    response = api.post("/reflections")
    assert response.status_code == 201
    report = said(response)
    assert report["markdown"].startswith(
        "## Self-Reflection Report\n\nReviewed 3 recent entries: 1 user messages, 1 responses, 1 errors.\n"
    )
    assert (report["entries"], report["trigger"], report["stats"]["errors"]) == (3, "asked", 1)
    assert report["stats"]["error_items"][0]["message_id"] == f"{session}.3"
    assert f"/api/v1/messages/{session}.3" in report["markdown"]
    assert said(reader.get(f"/reflections/{report['id']}")) == report
    [listed] = said(reader.get("/reflections"))["items"]
    assert listed == {name: value for name, value in report.items() if name not in ("markdown", "stats")}
    assert stranger.get(f"/reflections/{report['id']}").status_code == 404
    assert said(stranger.post("/reflections"))["markdown"] == "No conversation history to reflect on yet."


def test_the_newest_of_all_and_as_many_before_for_comparison(api: Api) -> None:
    session = api.open()
    api.append(session, *[user(f"number {number}") for number in range(50)])
    stats = said(api.post("/reflections"))["stats"]
    assert (stats["entries"], stats["before"]["entries"]) == (30, 20)
    stats = said(api.post("/reflections", {"limit": 5}))["stats"]
    assert (stats["entries"], stats["before"]["entries"]) == (5, 5)


def test_a_period_one_session_and_hidden_entries(api: Api) -> None:
    first, second = api.open("a"), api.open("b")
    for hour in range(8, 14):
        api.append(first, {**user("x"), "created_at": f"2026-05-01T{hour:02d}:00:00+00:00"})
    api.append(second, {**user("y"), "created_at": "2026-05-01T12:30:00+00:00"})
    period = {"since": "2026-05-01T11:00:00", "until": "2026-05-01T13:00:00"}
    stats = said(api.post("/reflections", period))["stats"]
    # 11 and 12 o'clock and the one of the other session; before it 9 and 10.
    assert (stats["entries"], stats["sessions"], stats["before"]["entries"]) == (3, 2, 2)
    assert said(api.post("/reflections", {**period, "session_id": second}))["entries"] == 1
    assert said(api.post("/reflections", {**period, "limit": 1}))["entries"] == 1
    api.post(f"/sessions/{second}/clear")
    assert said(api.post("/reflections", period))["entries"] == 2


@pytest.mark.parametrize(
    "body",
    [
        {"limit": 0},
        {"limit": 100_001},
        {"since": "yesterday"},
        {"until": "2026-13-01"},
        {"since": "2026-05-02", "until": "2026-05-01"},
        {"since": "0001-01-01T00:00:00+14:00"},
        {"nothing": 1},
    ],
)
def test_a_wrong_question_is_refused(api: Api, body: Any) -> None:
    assert api.post("/reflections", body).status_code == 422
    assert not Reflection.objects.exists()


def test_a_session_of_another_agent_cannot_be_reflected_on(api: Api, stranger: Api) -> None:
    assert stranger.post("/reflections", {"session_id": api.open()}).status_code == 404


def test_a_report_costs_as_many_statements_as_it_has_pages(
    api: Api, django_assert_max_num_queries: Any
) -> None:
    from sessions_app.reflections import ASKED, Scope, write

    session = api.open()
    api.append(session, *[user(f"word{number % 7}") for number in range(1000)])
    agent = Agent.objects.get()
    with django_assert_max_num_queries(3):
        assert write(agent, Scope(limit=500), ASKED, agent.created_at).entries == 500
