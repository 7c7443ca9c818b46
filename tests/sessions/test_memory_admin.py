"""What operators see and do: consolidations, memory, reports, runs."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from sessions_app.models import Consolidation, MemoryRevision, Reflection, Run, Session
from tests.conftest import Api, said
from tests.sessions.conversations import assistant, user

from .test_consolidation import TRIP, consolidated

BASE = "/admin/sessions_app"


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator"))
    return client


def page(operator: Client, model: type[Any], pk: int | None = None) -> str:
    name = model.__name__.lower()
    answer = operator.get(f"{BASE}/{name}/" if pk is None else f"{BASE}/{name}/{pk}/change/")
    assert answer.status_code == 200
    return answer.content.decode()


def act(operator: Client, model: type[Any], action: str, pk: int) -> str:
    answer = operator.post(
        f"{BASE}/{model.__name__.lower()}/", {"action": action, "_selected_action": [pk]}, follow=True
    )
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_consolidation_is_read_redone_and_discarded(api: Api, operator: Client) -> None:
    session = api.open()
    api.append(session, user("Show <b>this</b> as it is, please."), *TRIP)
    consolidated(api, session)
    first = Consolidation.objects.get()
    assert "extractive" in page(operator, Consolidation)
    shown = page(operator, Consolidation, first.pk)
    assert "Please book a hotel in Lisbon" in shown
    assert "&lt;b&gt;this&lt;/b&gt;" in shown
    assert "1 condensed once more." in act(operator, Consolidation, "redo", first.pk)
    first.refresh_from_db()
    assert first.discarded_by == "redone by operator"
    second = Consolidation.objects.get(discarded_at=None)
    # The old one is none that could be taken back.
    assert "0 discarded." in act(operator, Consolidation, "discard", first.pk)
    assert "1 discarded." in act(operator, Consolidation, "discard", second.pk)
    assert Session.objects.get().consolidated_through == 0


def test_the_memory_is_shown_with_its_changes_and_an_old_version_comes_back(
    admin: Api, operator: Client
) -> None:
    admin.send("PUT", "/memory", {"content": "# Ada", "version": 0})
    admin.send("PUT", "/memory", {"content": "# Bob", "version": 1})
    first, second = MemoryRevision.objects.order_by("version")
    shown = page(operator, MemoryRevision, second.pk)
    assert re.findall(r'db-line-(\w+)">.*?</span>.*?</span>(.*?)</div>', shown) == [
        ("removed", "# Ada"),
        ("added", "# Bob"),
    ]
    act(operator, MemoryRevision, "make_current", first.pk)
    assert said(admin.get("/memory"))["content"] == "# Ada"
    assert MemoryRevision.objects.get(version=3).author == "operator"


def test_a_report_is_rendered_with_links_to_its_messages(api: Api, operator: Client) -> None:
    session = api.open()
    api.append(session, {"kind": "error", "error": "it <i>broke</i>"})
    api.post("/reflections")
    page(operator, Reflection)
    shown = page(operator, Reflection, Reflection.objects.get().pk)
    assert "<h2>Self-Reflection Report</h2>" in shown
    assert "it &lt;i&gt;broke&lt;/i&gt;" in shown
    assert f"{BASE}/session/at/{session}.1/" in shown


def test_the_command_condenses_everything_and_its_state_is_shown(
    api: Api, stranger: Api, operator: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    for key in ("a", "b"):
        api.append(api.open(key), user("Remember the milk, please."), assistant("ok"), user("Thanks."))
    call_command("consolidate", "--all")
    told = capsys.readouterr()
    assert told.out.splitlines() == ["main: 2 sessions looked at", "other: 0 sessions looked at"]
    # Nobody looks on: lines in place of a bar.
    assert told.err.splitlines() == ["main: 1 of 2", "main: 2 of 2"]
    assert Consolidation.objects.count() == 2
    [run] = said(api.get("/runs"))["items"]
    assert [run[name] for name in ("name", "state", "total", "done", "failed")] == [
        "consolidate",
        "done",
        2,
        2,
        0,
    ]
    assert [one["total"] for one in said(stranger.get("/runs"))["items"]] == [0]
    assert "consolidate" in page(operator, Run)
