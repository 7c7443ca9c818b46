"""Operators import and set rules by the same functions."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from sessions_app import imports
from sessions_app.models import Agent, Import, Message, RetentionRule, Session
from tests.conftest import Api

from . import samples
from .conftest import write_lines
from .test_redaction import KEY


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator"))
    return client


def test_an_operator_uploads_a_transcript(
    operator: Client, api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "send", lambda _: None)
    raw = write_lines(tmp_path / "x.jsonl", *samples.NANOBOT).read_bytes()
    agent = Agent.objects.get(name="main")
    form = {"agent": agent.pk, "format": "auto", "file": SimpleUploadedFile("telegram_42.jsonl", raw)}
    answer = operator.post("/admin/sessions_app/import/add/", form)
    assert answer.status_code == 302, answer.content
    row = Import.objects.get()
    imports.run(row.uid, timezone.now())
    assert Session.objects.get().key == "telegram:42"
    page = operator.get(f"/admin/sessions_app/import/{row.pk}/change/")
    assert b"done" in page.content
    assert operator.get("/admin/sessions_app/import/").status_code == 200


def test_an_operator_sees_what_a_rule_would_delete(operator: Client, api: Api) -> None:
    rule = RetentionRule.objects.create(agent=Agent.objects.get(name="main"), sessions=0)
    api.append(api.open("k"), {"role": "user", "content": "x"})
    chosen = {"action": "preview", "_selected_action": [rule.pk]}
    answer: Any = operator.post("/admin/sessions_app/retentionrule/", chosen)
    (told,) = map(str, get_messages(answer.wsgi_request))
    assert told.startswith("everything: 0 sessions: 1 sessions, 1 messages")
    assert operator.get("/admin/sessions_app/deletion/").status_code == 200


def test_pages_show_no_secrets(operator: Client, api: Api) -> None:
    api.append(api.open("k"), {"role": "user", "content": KEY, "metadata": {"k": KEY}})
    row = Message.objects.get()
    for page in ("/admin/sessions_app/message/", f"/admin/sessions_app/message/{row.pk}/change/"):
        shown = operator.get(page).content.decode()
        assert KEY not in shown
        assert "[redacted:provider-key]" in shown
