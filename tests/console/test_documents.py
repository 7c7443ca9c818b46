"""Reports, what agents remember, what was condensed: shown with their pictures, acted on, and noted."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from gateway_app.admin.acting import acting_for
from sessions_app import condensing, memory
from sessions_app.admin.memory import changed
from sessions_app.commits import commit
from sessions_app.models import Agent, Consolidation, MemoryRevision, Message, Reflection, Session
from tests.conftest import Api
from tests.sessions.conversations import user
from tests.sessions.test_consolidation import TRIP

from .conftest import Member

BASE = "/admin/sessions_app"
REPORTS = f"{BASE}/reflection/"


def text(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def said_in_log() -> list[str]:
    return list(LogEntry.objects.order_by("pk").values_list("change_message", flat=True))


def remembered(*contents: str) -> list[MemoryRevision]:
    agent, now = Agent.objects.get(name="main"), timezone.now()
    for version, content in enumerate(contents):
        commit(lambda: memory.write(acting_for(agent), content, version, "ada", now))  # noqa: B023
    return list(MemoryRevision.objects.order_by("version"))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "a", [("added", "a")]),
        ("a", "a", []),
        ("a\nb", "a\nc", [("kept", "a"), ("removed", "b"), ("added", "c")]),
        (
            "1\n2\n3\n4\n5\n6",
            "1\n2\n3\n4\n5",
            [("skipped", ""), ("kept", "3"), ("kept", "4"), ("kept", "5"), ("removed", "6")],
        ),
    ],
)
def test_a_change_is_told_line_by_line(old: str, new: str, expected: list[tuple[str, str]]) -> None:
    assert list(changed(old, new)) == expected


def test_a_version_is_compared_with_any_other(member: Member, api: Api) -> None:
    rows, viewer = remembered("one", "one\ntwo", "one\nthree"), member("viewer")
    page = f"{BASE}/memoryrevision/{rows[2].pk}/change/"
    assert re.findall(r"Changed since version (\d)", text(viewer, page)) == ["2"]
    against = text(viewer, f"{page}?against=1")
    assert re.findall(r'db-line-(?:added|removed)">.*?</span>.*?</span>(.*?)</div>', against) == ["three"]
    for odd in ("x", "99", "-1", "9" * 30):
        assert viewer.get(page, {"against": odd}).status_code == 200


def test_an_old_version_is_made_current_on_its_page_and_that_is_noted(member: Member, api: Api) -> None:
    first, second = remembered("# Ada", "# Bob")
    viewer, operator = member("viewer"), member("operator")
    do = f"{BASE}/memoryrevision/{first.pk}/do/make_current/"
    assert do not in text(viewer, f"{BASE}/memoryrevision/{first.pk}/change/")
    assert viewer.post(do).status_code == 403
    assert do in text(operator, f"{BASE}/memoryrevision/{first.pk}/change/")
    assert "make_current" not in text(operator, f"{BASE}/memoryrevision/{second.pk}/change/")
    assert operator.get(do).status_code == 403
    assert operator.post(f"{BASE}/memoryrevision/{first.pk}/do/delete_selected/").status_code == 404
    assert operator.post(f"{BASE}/memoryrevision/0/do/make_current/").status_code == 404
    assert operator.post(do).status_code == 302
    assert memory.text_of(first.agent_id) == "# Ada"
    assert said_in_log() == ["Made current again, as version 3."]


@pytest.fixture
def condensed(api: Api) -> Consolidation:
    uid = api.open("trip", title="A trip")
    api.append(uid, user("Please show **this** as it is said."), *TRIP)
    condensing.consolidate(Session.objects.get(uid=uid).pk, "idle", timezone.now)
    return Consolidation.objects.get()


def test_a_consolidation_leads_to_what_it_tells_of(member: Member, condensed: Consolidation) -> None:
    shown = text(member("viewer"), f"{BASE}/consolidation/{condensed.pk}/change/")
    uid = condensed.session.uid
    assert f'href="{BASE}/session/at/{uid}.1/"' in shown
    linked = re.findall(rf'/at/{uid}\.(\d+)/" aria-label="Entry', shown)
    assert [int(seq) for seq in linked] == [point["seq"] for point in condensed.points]
    assert f"{round(100 * condensed.tokens_after / condensed.tokens_before)} % of it is left." in shown


def test_redoing_and_discarding_are_noted_and_not_for_viewers(
    member: Member, condensed: Consolidation
) -> None:
    do = f"{BASE}/consolidation/{condensed.pk}/do"
    viewer, operator = member("viewer"), member("operator")
    for deed in ("redo", "discard"):
        assert viewer.post(f"{do}/{deed}/").status_code == 403
    assert operator.post(f"{do}/redo/").status_code == 302
    newest = Consolidation.objects.get(discarded_at=None)
    assert operator.post(f"{BASE}/consolidation/{newest.pk}/do/discard/").status_code == 302
    assert Session.objects.get().consolidated_through == 0
    assert said_in_log() == ["Condensed once more.", "Discarded."]
    # It is none that could be taken back: nothing is offered, and nothing is noted.
    assert "/do/redo/" not in text(operator, f"{BASE}/consolidation/{condensed.pk}/change/")
    operator.post(f"{do}/discard/")
    assert len(said_in_log()) == 2


def test_a_report_is_compared_with_the_period_before(member: Member, api: Api) -> None:
    uid = api.open("talk")
    api.append(uid, *({"role": "user", "content": f"Where is the harbour {n}?"} for n in range(3)))
    api.append(uid, {"kind": "error", "error": "the map is gone"})
    Message.objects.filter(seq=1).update(created_at=timezone.now() - timedelta(hours=36))
    agent, operator = Agent.objects.get(name="main"), member("operator")
    given = {"agent": agent.pk, "period": "24h"}
    assert member("viewer").post(f"{REPORTS}write/", given).status_code == 403
    assert operator.get(f"{REPORTS}write/").status_code == 403
    assert "Write a report now" in text(operator, REPORTS)
    answer: Any = operator.post(f"{REPORTS}write/", given)
    report = Reflection.objects.get()
    assert answer.url == f"{REPORTS}{report.pk}/change/"
    assert said_in_log() == ["Wrote a report over 3 entries of main."]
    page = text(operator, answer.url)
    figures = dict(re.findall(r'figure-name">([^<]*)</span>.*?figure-note[^>]*>([^<]*)<', page))
    assert figures["User messages"] == "+1 against 1 before"
    assert figures["Errors"] == "+1 against 0 before"
    assert re.findall(r'aria-label="User messages, (?:now|before)"></progress><span>(\d+)', page) == [
        "2",
        "1",
    ]
    assert 'aria-label="Entries a day. 3 in all' in page
    assert f'href="{BASE}/session/at/{uid}.4/"' in page
    assert f"{REPORTS}{report.pk}/change/" in text(operator, REPORTS)


@pytest.mark.parametrize("given", [{}, {"agent": "x"}, {"agent": "0"}, {"agent": "9" * 40}])
def test_a_report_of_nobody_is_not_written(member: Member, api: Api, given: dict[str, str]) -> None:
    assert member("operator").post(f"{REPORTS}write/", given).status_code == 302
    assert not Reflection.objects.exists()


def test_what_an_agent_does_not_show_is_in_no_document(
    member: Member, admin: Api, condensed: Consolidation
) -> None:
    admin.send("PUT", "/redaction", {"email": True})
    secret = "ada@example.org"
    Consolidation.objects.update(
        summary=secret, points=[{"seq": 1, "label": "User", "text": secret, "weight": 1}]
    )
    admin.append(str(condensed.session.uid), {"kind": "error", "error": f"no answer from {secret}"})
    admin.post("/reflections")
    version = remembered(f"- writes from {secret}")[0]
    viewer = member("viewer")
    for row in (condensed, version, Reflection.objects.get()):
        page = text(viewer, f"{BASE}/{row._meta.model_name}/{row.pk}/change/")
        assert secret not in page
        assert "[redacted:email]" in page
