"""Search and skills for operators, exports and reports of a session."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from config.console.searching import marked
from config.demo import skills as demo
from gateway_app.admin.acting import acting_for
from sessions_app.models import Agent, Reflection, Session
from skills_app.tracking import Use, bring_in, import_key_of
from tests.conftest import Api

from .attacks import ATTACKS, faults
from .conftest import Member

SEARCH, SKILLS, SESSIONS = "/admin/find/", "/admin/skills/", "/admin/sessions_app/session/"
ONE_SKILL = "/admin/skills/one/"


@pytest.fixture
def talks(api: Api, stranger: Api) -> dict[str, str]:
    """Two sessions of one agent and one of another, with the same word in two of them."""
    made = {key: api.open(key) for key in ("harbour", "market")} | {"other": stranger.open("other")}
    api.append(made["harbour"], {"role": "user", "content": "Is the lighthouse open?"},
               {"role": "assistant", "content": "The lighthouse opens at nine."},
               {"role": "user", "content": "Thank you."})  # fmt: skip
    api.append(made["market"], {"role": "user", "content": "Buy apples."})
    stranger.append(made["other"], {"role": "user", "content": "A lighthouse keeper wrote."})
    return made


def hits(client: Client, **given: str) -> list[tuple[str, int]]:
    answer: Any = client.get(SEARCH, given)
    assert answer.status_code == 200
    found = answer.context["answer"]
    return [] if found is None else [(hit.key, hit.seq) for hit in found.hits]


def test_operators_search_all_agents_and_a_hit_stands_in_its_context(
    member: Member, talks: dict[str, str]
) -> None:
    viewer = member("viewer")
    assert sorted(hits(viewer, q="lighthouse")) == [("harbour", 1), ("harbour", 2), ("other", 1)]
    agent = str(Agent.objects.get(name="main").pk)
    assert hits(viewer, q="lighthouse", agent=agent, role="assistant") == [("harbour", 2)]
    assert hits(viewer, q="lighthouse", until="24h") == []
    assert hits(viewer, q="lighthouse", exclude_session=talks["harbour"]) == [("other", 1)]
    assert len(hits(viewer, q="lighthouse", exclude_platform="email, cron")) == 3
    assert hits(viewer, q="ghthou", mode="substring", agent=agent) == [("harbour", 2), ("harbour", 1)]
    text = viewer.get(SEARCH, {"q": "nine", "agent": agent}).content.decode()
    assert "<mark>nine</mark>" in text
    assert ["Is the lighthouse open?" in text, "Thank you." in text] == [True, True]
    link = re.findall(r'href="(/admin/sessions_app/session/at/[^"]*)"', text)
    assert link == [f"{SESSIONS}at/{talks['harbour']}.2/"]
    assert viewer.get(link[0]).status_code == 302


@pytest.mark.parametrize(
    "given",
    [
        {"q": "a", "mode": "magic"}, {"q": "a", "since": "soon"}, {"q": "a", "cursor": "x", "agent": "1"},
        {"q": "x" * 5000}, {"q": "\0"}, {"q": "a", "session": "no"}, {"q": "a", "agent": "none"},
        {"q": '"'}, {"q": "a", "sort": "newest", "mode": "hybrid"},
    ],
)  # fmt: skip
def test_whatever_is_asked_the_search_page_answers(member: Member, api: Api, given: dict[str, str]) -> None:
    assert member("viewer").get(SEARCH, given).status_code == 200


@pytest.mark.parametrize("address", [SEARCH, SKILLS, ONE_SKILL])
def test_pages_are_for_those_who_may_look(db: None, address: str) -> None:
    client = Client()
    assert client.get(address).status_code == 302
    client.force_login(User.objects.create_user("staff", is_staff=True))
    assert client.get(address).status_code == 403


def test_the_list_finds_a_session_by_what_was_said_in_it(member: Member, talks: dict[str, str]) -> None:
    found: Any = member("viewer").get(SESSIONS, {"q": "lighthouse opens"})
    assert [session.key for session in found.context["cl"].result_list] == ["harbour"]


def test_marks_are_set_and_everything_else_is_text() -> None:
    assert marked("a >>>b<<< c") == "a <mark>b</mark> c"
    assert marked(">>> <b>x</b>") == "&gt;&gt;&gt; &lt;b&gt;x&lt;/b&gt;"
    for text in ATTACKS:
        assert faults(marked(f"{text} >>>{text}<<< {text}")) == []


def test_what_an_agent_does_not_show_is_shown_nowhere(member: Member, admin: Api) -> None:
    answer = admin.send("PUT", "/redaction", {"email": True})
    assert answer.status_code == 200, answer.content
    session = admin.open("private")
    admin.append(session, {"role": "user", "content": "Write to ada@example.org today"},
                 {"role": "assistant", "content": "I wrote to ada@example.org."})  # fmt: skip
    viewer, pk = member("viewer"), Session.objects.get().pk
    for address in (f"{SESSIONS}{pk}/change/", f"{SEARCH}?q=today", f"{SEARCH}?q=wrote"):
        text = viewer.get(address).content.decode()
        assert "ada@example.org" not in text, address
    stream: Any = viewer.get(f"{SESSIONS}{pk}/live/", {"after": "0"})
    first = b"".join(next(iter(stream.streaming_content)) for _ in range(2))
    stream.close()
    assert b"ada@" not in first


def test_a_session_is_exported_as_it_is_over_the_api_and_that_is_noted(
    member: Member, api: Api, talks: dict[str, str]
) -> None:
    pk = Session.objects.get(key="harbour").pk
    viewer: Any = member("viewer")
    answer = viewer.get(f"{SESSIONS}{pk}/export/markdown/")
    over_api: Any = api.get(f"/sessions/{talks['harbour']}/export?format=markdown")
    assert b"".join(answer.streaming_content) == b"".join(over_api.streaming_content)
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{talks["harbour"]}.md"'
    assert LogEntry.objects.get().change_message == "Exported as markdown."
    assert viewer.get(f"{SESSIONS}{pk}/export/daybook/").status_code == 403
    assert viewer.get(f"{SESSIONS}{pk}/export/none/").status_code == 404


def test_an_operator_has_a_report_written_and_is_led_to_it(member: Member, talks: dict[str, str]) -> None:
    pk = Session.objects.get(key="harbour").pk
    assert member("viewer").post(f"{SESSIONS}{pk}/act/reflect/").status_code == 403
    answer: Any = member("operator").post(f"{SESSIONS}{pk}/act/reflect/")
    report = Reflection.objects.get()
    assert (report.session_id, report.entries) == (pk, 3)
    assert answer.url == f"/admin/sessions_app/reflection/{report.pk}/change/"
    assert LogEntry.objects.get().change_message == "Wrote a report over 3 entries."


def used(agent: Agent, skill: str, *states: str, phase: str = "plan") -> None:
    now = timezone.now()
    uses = []
    for number, state in enumerate(states, 1):
        at = now - timedelta(minutes=number)
        uses.append(Use(
            skill, at, workflow_phase=phase, user_query="book a table", state=state, finished_at=at,
            duration_us=2_000_000, import_key=import_key_of(skill, at, ""),
        ))  # fmt: skip
    bring_in(acting_for(agent, now), uses)


def test_skills_have_rates_pictures_and_recommendations(member: Member, api: Api) -> None:
    agent, viewer = Agent.objects.get(name="main"), member("viewer")
    assert "No skill of this agent has been used yet." in viewer.get(SKILLS).content.decode()
    used(agent, "book-table", "completed", "completed", "completed", "failed")
    given = {"query": "book a table", "agent": str(agent.pk)}
    text = viewer.get(SKILLS, given).content.decode()
    row = re.sub(r"<svg.*?</svg>|<[^>]*>|\s+", " ", re.findall(r"<tbody>.*?</tbody>", text, re.DOTALL)[0])
    assert row.split()[:7] == ["book-table", "4", "75", "%", "1", "0", "2.0"]
    assert text.count("<svg") >= 3
    # The policy of the page forbids styles in it.
    assert "<style" not in text.split("db-figures")[1]
    assert "for “book a table”" in text


def figures(text: str) -> dict[str, str]:
    found = re.findall(r'figure-name">([^<]*)</span><span class="db-figure-value">([^<]*)', text)
    return dict(found)


def test_one_skill_has_a_page_with_its_course_its_phases_and_its_uses(member: Member, api: Api) -> None:
    agent, viewer = Agent.objects.get(name="main"), member("viewer")
    used(agent, "book-table", "completed", "completed", "failed", "abandoned")
    used(agent, "other", "completed")
    asked: dict[str, Any] = {"agent": agent.pk, "skill": "book-table"}
    text = viewer.get(ONE_SKILL, asked).content.decode()
    told = figures(text)
    assert [told[name] for name in ("Uses", "Completed", "Failed", "Abandoned")] == ["4", "50 %", "1", "1"]
    assert 'aria-label="Uses a day. 4 in all, at most 4' in text
    assert 'aria-label="Completed of each hundred, by day. From 50 to 50 %.' in text
    assert re.findall(r"Likely between.*?<td>(\d+) and (\d+) %", text, re.DOTALL) == [("15", "85")]
    assert len(re.findall(r'<ol class="db-uses">.*</ol>', text, re.DOTALL)[0].split("<li>")) == 5
    assert f'{ONE_SKILL}?agent={agent.pk}&amp;skill=book-table"' in viewer.get(SKILLS).content.decode()
    for given in ({"skill": "none"}, {"skill": ""}, {"agent": "x" * 30, "skill": "none"}):
        assert viewer.get(ONE_SKILL, given).status_code == 404


def test_what_was_not_used_is_apart_from_what_never_worked(member: Member, api: Api) -> None:
    agent = Agent.objects.get(name="main")
    used(agent, "never-works", "failed")
    used(agent, "elsewhere", "completed", phase="book")
    text = member("viewer").get(SKILLS).content.decode()
    assert "never-works, plan: 0 %" in text
    assert "never-works, book: not used" in text
    assert text.count('<rect class="none"') == 3


def test_no_name_of_a_skill_runs_anything(member: Member, api: Api) -> None:
    agent, viewer = Agent.objects.get(name="main"), member("viewer")
    for text in ATTACKS:
        used(agent, text[:200], "completed")
    for skill in ATTACKS[:8]:
        given: dict[str, Any] = {"agent": agent.pk, "skill": skill[:200]}
        assert faults(viewer.get(SKILLS, {"query": skill}).content.decode()) == []
        assert faults(viewer.get(ONE_SKILL, given).content.decode()) == []


def test_the_demo_tells_a_story_of_skills(api: Api) -> None:
    now = timezone.now()
    assert demo.invocations(80, 7, now) > 20
    assert demo.invocations(80, 7, now) == 0
