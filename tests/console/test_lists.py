"""Lists of the console: in which order rows come, what narrows them, and that they say so."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from config.console.troubled_skills import troubled
from gateway_app.admin.acting import acting_for
from sessions_app.admin.filters import slot_of
from sessions_app.admin.messages import spoken_beginning
from sessions_app.models import Agent, Message, Session
from skills_app.tracking import Use, bring_in, import_key_of
from tests.conftest import Api

from .conftest import Member

SESSIONS, MESSAGES = "/admin/sessions_app/session/", "/admin/sessions_app/message/"


def keys(client: Client, address: str, **given: str) -> list[str]:
    answer: Any = client.get(address, given)
    assert answer.status_code == 200
    return [getattr(row, "key", None) or row.session.key for row in answer.context["cl"].result_list]


@pytest.fixture
def spread(api: Api, stranger: Api) -> None:
    """Of two agents; begun in the order of their numbers, active in another."""
    now = timezone.now()
    for number, hours in enumerate((5, 1, 30, 3)):
        (stranger if number % 2 else api).open(f"k{number}")
        at = now - timedelta(hours=hours)
        Session.objects.filter(key=f"k{number}").update(updated_at=at, errors_count=0)


def test_sessions_come_last_active_first_over_all_agents(member: Member, spread: None) -> None:
    viewer = member("viewer")
    assert keys(viewer, SESSIONS) == ["k1", "k3", "k0", "k2"]
    assert keys(viewer, SESSIONS, open="yes", active="24h") == ["k1", "k3", "k0"]
    assert keys(viewer, SESSIONS, agent__id__exact=str(Agent.objects.get(name="main").pk)) == ["k0", "k2"]
    assert keys(viewer, SESSIONS, q="k") == ["k1", "k3", "k0", "k2"]
    # Where no index leads by activity, those that were begun last come first.
    assert keys(viewer, SESSIONS, errors="no") == ["k3", "k2", "k1", "k0"]


def test_pages_go_forth_and_back_by_activity(
    member: Member, spread: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.console.sessions.SessionAdmin.list_per_page", 3)
    viewer = member("viewer")
    first: Any = viewer.get(SESSIONS)
    older = first.context["cl"].older
    second: Any = viewer.get(SESSIONS + older)
    assert [row.key for row in second.context["cl"].result_list] == ["k2"]
    assert keys(viewer, SESSIONS + second.context["cl"].newer) == ["k1", "k3", "k0"]
    assert "3 shown, last active first" in first.content.decode()


def test_a_list_says_what_it_is_narrowed_to(member: Member, spread: None) -> None:
    answer: Any = member("viewer").get(SESSIONS, {"open": "yes", "q": "k1"})
    assert answer.context["cl"].chips == [("state", "open", "?q=k1"), ("search", "k1", "?open=yes")]
    assert "remove</span>" in answer.content.decode()


@pytest.mark.parametrize(
    ("text", "begin", "hours"),
    [
        ("2026-05-01", "2026-05-01T00:00:00+00:00", 24), ("2026-05-01T09", "2026-05-01T09:00:00+00:00", 1),
        ("2026-05-32", None, 0), ("2026-05-01T24", None, 0), ("9999-12-31", None, 0), ("24h", None, 0),
        ("", None, 0),
    ],
)  # fmt: skip
def test_a_chart_leads_to_an_hour_or_a_day(text: str, begin: str | None, hours: int) -> None:
    found = slot_of(text)
    assert (found and found[0].isoformat()) == begin
    assert found is None or found[1] - found[0] == timedelta(hours=hours)


def test_messages_are_narrowed_to_the_time_of_a_bar(member: Member, api: Api) -> None:
    for key in ("early", "late"):
        api.append(api.open(key), {"role": "user", "content": key})
    at = timezone.now().replace(minute=30)
    Message.objects.filter(session__key="early").update(created_at=at - timedelta(hours=2))
    Message.objects.filter(session__key="late").update(created_at=at)
    viewer = member("viewer")
    assert keys(viewer, MESSAGES, recorded=f"{at:%Y-%m-%dT%H}") == ["late"]
    assert keys(viewer, MESSAGES, recorded=f"{at - timedelta(hours=2):%Y-%m-%dT%H}") == ["early"]
    assert keys(viewer, MESSAGES, recorded="1h") == ["late"]
    assert keys(viewer, MESSAGES, recorded="never") == ["late", "early"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"role":"user","content":"a \\"b\\"\\nc"}', 'a "b" c'),
        ('{"role":"user","content":[{"type":"text","text":"in a block"}]}', "in a block"),
        ('{"error":"it broke","context":null}', "it broke"), ('{"tool":"search","args":{', "search"),
        ('{"role":"user","content":"cut in the mid', "cut in the mid"), ('{"role":"assistant"}', ""),
    ],
)  # fmt: skip
def test_the_beginning_of_a_body_is_shown_as_words(body: str, said: str) -> None:
    assert spoken_beginning(body) == said


def test_the_first_page_names_the_skills_that_fail_and_those_that_take_long(member: Member, api: Api) -> None:
    agent, now = Agent.objects.get(name="main"), timezone.now()
    for skill, seconds, states in (
        ("fine", 9, ["completed"] * 3), ("bad", 2, ["failed", "abandoned", "completed"]),
        ("rare", 50, ["failed"]),
    ):  # fmt: skip
        uses = []
        for number, state in enumerate(states):
            at = now - timedelta(minutes=number)
            uses.append(Use(
                skill, at, state=state, finished_at=at, duration_us=seconds * 1_000_000,
                import_key=import_key_of(skill, at, ""),
            ))  # fmt: skip
        bring_in(acting_for(agent, now), uses)
    found = troubled(now - timedelta(days=1))
    assert [(line.name, line.said, line.alarming) for line in found["failing"]] == [("bad", "67% of 3", True)]
    assert [(line.name, line.said) for line in found["slow"]] == [("fine", "9.0 s"), ("bad", "2.0 s")]
    text = member("viewer").get("/admin/").content.decode()
    assert f"/admin/skills/?agent={agent.pk}&amp;skill=bad" in text
