"""Groups: who may look, who may act, and that a typed address opens nothing."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from gateway_app import sweep
from sessions_app.models import Agent, Message, Session
from tests.conftest import Api

from .conftest import Member


@pytest.fixture
def session(api: Api) -> Session:
    uid = api.open("telegram:1", title="Lisbon")
    api.append(uid, {"role": "user", "content": "How warm is it?"})
    return Session.objects.get(uid=uid)


def act(client: Client, session: Session, action: str, **given: str) -> Any:
    return client.post(reverse("admin:console_act", args=[session.pk, action]), given)


@pytest.mark.parametrize("action", ["reset", "reopen", "condense", "retain", "end-lease", "erase"])
def test_a_viewer_cannot_act_by_typing_an_address(member: Member, session: Session, action: str) -> None:
    viewer = member("viewer")
    before = Session.objects.values().get()
    assert act(viewer, session, action, sure="erase", most="0").status_code == 403
    assert viewer.get(reverse("admin:console_act", args=[session.pk, action])).status_code == 403
    assert Session.objects.values().get() == before
    assert not LogEntry.objects.exists()


def test_a_viewer_reads_everything_but_keys(member: Member, session: Session) -> None:
    viewer = member("viewer")
    page = viewer.get(reverse("admin:sessions_app_session_change", args=[session.pk]))
    assert b"How warm is it?" in page.content
    assert viewer.get(reverse("admin:index")).status_code == 200
    for name in ("gateway_app_apikey", "auth_user"):
        assert viewer.get(reverse(f"admin:{name}_changelist")).status_code == 403
    assert viewer.get(reverse("admin:gateway_app_delivery_changelist")).status_code == 200


def test_who_acts_is_in_the_log_with_what_was_done(member: Member, session: Session) -> None:
    operator = member("operator")
    assert act(operator, session, "reset").status_code == 302
    session.refresh_from_db()
    assert session.end_reason == "reset"
    entry = LogEntry.objects.get()
    assert (str(entry.user), entry.object_repr) == ("a operator", "Lisbon")
    assert entry.change_message == "Reset: it has ended, and a new session of its key is open."


def test_a_session_that_has_ended_is_opened_again(member: Member, session: Session) -> None:
    operator = member("operator")
    act(operator, session, "reset")
    page: Any = operator.get(reverse("admin:sessions_app_session_change", args=[session.pk]))
    assert reverse("admin:console_act", args=[session.pk, "reopen"]).encode() in page.content
    act(operator, session, "reopen")
    assert Session.objects.get(ended_at__isnull=True).pk == session.pk
    assert Session.objects.get(ended_at__isnull=False).end_reason == "switched"


def test_the_page_says_what_ended_a_session_or_will(member: Member, session: Session) -> None:
    viewer = member("viewer")
    page = reverse("admin:sessions_app_session_change", args=[session.pk])
    long_ago = timezone.now() - timedelta(days=3)
    place = {"platform": "telegram", "chat_type": "dm", "active_at": long_ago, "reset_check_at": long_ago}
    Session.objects.filter(pk=session.pk).update(**place)
    assert "due: idle, daily" in viewer.get(page).content.decode()
    policy = ["telegram", "", "all", 10_000, 4, ""]
    Agent.objects.update(reset_policies=json.dumps([policy]))
    assert "holds: daily" in viewer.get(page).content.decode()
    Agent.objects.update(reset_policies="[]")
    assert sweep.step(timezone.now()) == 1
    assert "held then: idle, daily" in viewer.get(page).content.decode()


def test_a_session_is_erased_only_with_the_word(member: Member, session: Session) -> None:
    operator = member("operator")
    assert act(operator, session, "erase").status_code == 200
    assert act(operator, session, "erase", sure="yes").status_code == 200
    assert Message.objects.count() == 1
    assert act(operator, session, "erase", sure="erase").status_code == 302
    assert (Session.objects.count(), Message.objects.count()) == (0, 0)
    assert LogEntry.objects.get().change_message == "Erased the session of 1 entries."


def test_an_operator_makes_no_keys_and_an_admin_no_superuser(member: Member) -> None:
    assert member("operator").get(reverse("admin:gateway_app_apikey_add")).status_code == 403
    admin = member("admin")
    assert admin.get(reverse("admin:gateway_app_apikey_add")).status_code == 200
    root = User.objects.create_superuser("root")
    change = reverse("admin:auth_user_change", args=[root.pk])
    assert admin.post(change, {"username": "taken"}).status_code == 403
    group = reverse("admin:auth_group_change", args=[Group.objects.get(name="admin").pk])
    assert admin.post(group, {"name": "admin"}).status_code == 403


def test_strangers_find_no_part_of_a_transcript(session: Session) -> None:
    for name in ("console_part", "console_live"):
        answer: Any = Client().get(reverse(f"admin:{name}", args=[session.pk]))
        assert answer.status_code == 302
        assert answer.url.startswith("/admin/login/")
