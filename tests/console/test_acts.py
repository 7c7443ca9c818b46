"""Pages on which operators act: schedules, deliveries, leases, erasures, imports, what is made unreadable."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery import current_app
from django.contrib.admin.models import LogEntry
from django.test import Client
from django_celery_beat.models import PeriodicTask

from config.console import jobs
from config.schedules import note
from gateway_app import personal_data
from gateway_app.models import Delivery, PersonErasure
from sessions_app.models import Agent, Import, OperatorJob, ScheduleState, Session
from tests.conftest import Api, said

from .conftest import Member

SCHEDULES = "/admin/django_celery_beat/periodictask/"
DELIVERIES = "/admin/gateway_app/delivery/"
ERASURES = "/admin/gateway_app/personerasure/"
AGENTS = "/admin/sessions_app/agent/"
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def text(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def said_in_log() -> list[str]:
    return list(LogEntry.objects.order_by("pk").values_list("change_message", flat=True))


def test_a_schedule_that_is_run_by_hand_is_noted_like_any_other_run(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(name: str, **given: Any) -> None:
        current_app.tasks[name].apply(**given)

    monkeypatch.setattr(current_app, "send_task", at_once)
    row = PeriodicTask.objects.get(task="sessions_app.tasks.forget_idempotent_answers")
    run = f"{SCHEDULES}{row.pk}/run/"
    viewer, operator = member("viewer"), member("operator")
    assert viewer.post(run).status_code == 403
    assert operator.get(run).status_code == 403
    assert operator.post(f"{SCHEDULES}0/run/").status_code == 404
    assert not ScheduleState.objects.exists()
    assert operator.post(run).status_code == 302
    state = ScheduleState.objects.get()
    assert (state.name, state.succeeded, state.runs) == (row.name, True, 1)
    assert said_in_log() == ["Asked to run it now."]
    assert run in text(operator, SCHEDULES)
    assert run not in text(viewer, SCHEDULES)


def test_how_a_schedule_went_is_told_in_words(member: Member) -> None:
    row = PeriodicTask.objects.get(task="gateway_app.tasks.sweep_sessions")
    viewer = member("viewer")
    for succeeded, result, shown in (
        (True, "0", "nothing to do"),
        (True, "3 queued", "3 queued"),
        (False, "no", "no"),
    ):
        note(row.name, NOON, 90, succeeded=succeeded, result=result)
        page = text(viewer, f"{SCHEDULES}?q={row.name}")
        assert shown in page
        assert ("failed" in page) is not succeeded
        assert "90 s" in page
    assert "3, 1 of them failed" in text(viewer, f"{SCHEDULES}{row.pk}/change/")


@pytest.fixture
def dead(api: Api) -> Delivery:
    uid = api.open("chat", title="A chat")
    return Delivery.objects.create(
        agent=Agent.objects.get(name="main"), session=Session.objects.get(uid=uid), target="slack",
        platform="slack", chat_id="C1", content="The <b>report</b> for ada@example.org", state="dead",
        attempts=8, last_error="503 Service Unavailable",
    )  # fmt: skip


def test_a_dead_delivery_is_sent_again_and_a_waiting_one_given_up(member: Member, dead: Delivery) -> None:
    viewer, operator, page = member("viewer"), member("operator"), f"{DELIVERIES}{dead.pk}/change/"
    shown = text(viewer, page)
    for part in ("503 Service Unavailable", "A chat", "8 of 8 attempts", "The &lt;b&gt;report&lt;/b&gt;"):
        assert part in shown
    assert viewer.post(f"{DELIVERIES}{dead.pk}/do/send_again/").status_code == 403
    assert re.findall(r"/do/(\w+)/", text(operator, page)) == ["send_again"]
    assert operator.post(f"{DELIVERIES}{dead.pk}/do/send_again/").status_code == 302
    dead.refresh_from_db()
    assert (dead.state, dead.attempts) == ("queued", 0)
    assert re.findall(r"/do/(\w+)/", text(operator, page)) == ["give_up"]
    operator.post(f"{DELIVERIES}{dead.pk}/do/give_up/")
    dead.refresh_from_db()
    assert dead.state == "dead"
    assert said_in_log() == ["Asked to send it again.", "Gave it up."]


def test_what_was_left_as_it_was_is_not_in_the_log(member: Member, dead: Delivery) -> None:
    member("operator").post(DELIVERIES, {"action": "give_up", "_selected_action": [dead.pk]})
    assert said_in_log() == []


def test_a_delivery_shows_no_more_than_the_agent_allows(member: Member, admin: Api, dead: Delivery) -> None:
    admin.send("PUT", "/redaction", {"email": True})
    assert "ada@" not in text(member("viewer"), f"{DELIVERIES}{dead.pk}/change/")


def test_a_person_is_erased_with_the_word_typed_by_admins_alone(
    member: Member, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(personal_data, "send", sent.append)
    given = {"agent": Agent.objects.get(name="main").pk, "platform": "Telegram", "user_id": "u-314159"}
    assert member("operator").post(f"{ERASURES}add/", {**given, "sure": "erase"}).status_code == 403
    admin = member("admin")
    assert (
        "Type the word to go on." in admin.post(f"{ERASURES}add/", {**given, "sure": "yes"}).content.decode()
    )
    assert not PersonErasure.objects.exists()
    assert admin.post(f"{ERASURES}add/", {**given, "sure": "erase"}).status_code == 302
    row = PersonErasure.objects.get()
    assert (row.platform, row.user_id) == ("telegram", "u-314159")
    assert "telegram: u-314159" in text(admin, ERASURES)
    assert LogEntry.objects.count() == 1
    # Once it is done nothing here tells who it was.
    personal_data.run(row.uid, NOON)
    assert "u-314159" not in re.sub(r"<[^>]*>", "", text(admin, ERASURES))
    assert not [entry for entry in LogEntry.objects.all() if "u-314159" in f"{entry} {entry.change_message}"]


RULES = {"builtin": "on", "display": "on", "export": "on", "email": "on", "patterns": "booking: BK-[0-9]{6}"}
AGENT = {
    "timezone": "UTC", "token_budget": "32000", "consolidate_after_minutes": "15",
    "consolidation_engine": "extractive", "reflection_hour": "6",
}  # fmt: skip


def test_what_is_made_unreadable_is_set_on_the_page_of_the_agent(member: Member, admin: Api) -> None:
    pk = Agent.objects.get(name="main").pk
    root = member("admin")
    assert root.post(f"{AGENTS}{pk}/change/", {**AGENT, **RULES}).status_code == 302
    told = said(admin.get("/redaction"))
    assert (told["email"], told["phone"], told["storage"]) == (True, False, False)
    assert told["patterns"] == [{"name": "booking", "pattern": "BK-[0-9]{6}"}]
    assert "booking: BK-[0-9]{6}" in text(root, f"{AGENTS}{pk}/change/")


@pytest.mark.parametrize("line", ["no colon", "Upper: a+", "name:", "a: [", "a: x*"])
def test_a_pattern_that_cannot_be_is_refused_in_words(member: Member, api: Api, line: str) -> None:
    pk = Agent.objects.get(name="main").pk
    answer = member("admin").post(f"{AGENTS}{pk}/change/", {**AGENT, **RULES, "patterns": line})
    assert answer.status_code == 200
    assert Agent.objects.get(pk=pk).redaction == ""


def test_an_import_tells_what_it_passed_over_and_shows_itself_anew(member: Member, api: Api) -> None:
    reasons = [{"what": "skipped", "reason": "no JSON", "count": 2, "lines": [3, 9]}]
    row = Import.objects.create(
        agent=Agent.objects.get(name="main"), format="auto", file_name="old.jsonl", size=100, state="running",
        bytes_read=40, created_at=NOON,
    )  # fmt: skip
    page, viewer = f"/admin/sessions_app/import/{row.pk}/change/", member("viewer")
    assert viewer.get(page).headers["Refresh"] == "2"
    file = {"file": "old.jsonl", "error": None, "reasons": reasons}
    row.report = {"files_read": 1, "stored": 7, "skipped": 2, "files": [file]}
    row.state, row.finished_at = "done", NOON + timedelta(seconds=1)
    row.save()
    answer = viewer.get(page)
    assert "Refresh" not in answer.headers
    shown = answer.content.decode()
    assert re.findall(r'figure-name">Entries stored</span><span class="db-figure-value">(\d+)', shown) == [
        "7"
    ]
    assert "no JSON" in shown
    assert "3, 9" in shown


def test_all_dead_deliveries_are_sent_again_by_a_job(
    member: Member, dead: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_send", lambda pk: None)
    monkeypatch.setitem(jobs.WORK, "send again", replace(jobs.WORK["send again"], at_once=2))
    fields = {"agent": dead.agent, "target": "slack", "platform": "slack", "content": "x", "state": "dead"}
    Delivery.objects.bulk_create(Delivery(**fields) for _ in range(4))
    send, viewer, operator = f"{DELIVERIES}all/send-again/", member("viewer"), member("operator")
    assert viewer.post(send).status_code == 403
    assert operator.get(send).status_code == 403
    assert "5 deliveries are dead" in text(operator, DELIVERIES)
    assert send not in text(viewer, DELIVERIES)
    answer: Any = operator.post(send)
    job = OperatorJob.objects.get()
    assert "0</span> of 5 deliveries looked at" in text(operator, answer.url)
    Delivery.objects.filter(pk=dead.pk).update(state="queued", next_attempt_at=NOON)
    progress = []
    while jobs.step(job.pk, NOON):
        job.refresh_from_db()
        progress.append((job.done, job.refused))
    job.refresh_from_db()
    assert [*progress, (job.done, job.refused)] == [(2, 1), (4, 1), (5, 1)]
    assert (job.state, job.last_refusal) == ("done", "It is not dead any more.")
    assert Delivery.objects.filter(state="queued").count() == 5
    assert said_in_log() == ["Asked to send it again."] * 4
    assert send not in text(operator, DELIVERIES)
