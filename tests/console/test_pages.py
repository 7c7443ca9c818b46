"""Pages over rows: each link of the first page leads to its rows, nobody sees more than they may, and
documents of strangers stay text."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from gateway_app.models import Delivery, DeliveryState, Platform
from gateway_app.platforms import host_of
from sessions_app.models import Agent, Consolidation, MemoryRevision, Reflection, Session
from tests.conftest import Api

from .attacks import ATTACKS, faults
from .conftest import Member

SECRET_URL = "https://hooks.example.org/services/T0/abc123?token=xyz"


@pytest.fixture
def root(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def busy(api: Api) -> None:
    """An open session, one that was reset, one with an error; a delivery in every state."""
    for key in ("open", "reset"):
        api.append(api.open(key), {"role": "user", "content": "hello"})
    session = Session.objects.get(key="reset")
    Session.objects.filter(pk=session.pk).update(end_reason="reset", ended_at=timezone.now())
    api.append(api.open("broken"), {"kind": "error", "error": "it broke"})
    soon = timezone.now() + timedelta(hours=1)
    for state in DeliveryState:
        waits = state in (DeliveryState.QUEUED, DeliveryState.SENDING, DeliveryState.RETRYING)
        Delivery.objects.create(
            agent=Agent.objects.get(name="main"), target=state, platform="local", state=state, content="x",
            next_attempt_at=soon if waits else None,
            delivered_at=soon if state == DeliveryState.DELIVERED else None,
        )  # fmt: skip


def rows(client: Client, address: str) -> set[str]:
    answer: Any = client.get(address)
    assert answer.status_code == 200, address
    found = answer.context["cl"].result_list
    return {
        str(getattr(row, "key", None) or getattr(row, "target", None) or row.session.key) for row in found
    }


def test_every_figure_of_the_first_page_leads_to_the_rows_that_it_counts(root: Client, busy: None) -> None:
    text = root.get("/admin/").content.decode()
    found = re.findall(r'class="db-(?:figure|meter)[^"]*" href="([^"]*)">\s*<span[^>]*>([^<]*)', text)
    links = {name: address.replace("&amp;", "&") for address, name in found}
    assert rows(root, links["Open sessions"]) == {"open", "broken"}
    assert rows(root, links["Errors"]) == {"broken"}
    assert rows(root, links["Messages"]) == {"open", "reset"}
    assert rows(root, links["Deliveries waiting"]) == {"queued", "sending", "retrying"}
    assert rows(root, links["Deliveries dead"]) == {"dead"}
    assert rows(root, links["reset"]) == {"reset"}
    for address in set(re.findall(r'href="(/admin/[^"]*)"', text)):
        assert root.get(address.replace("&amp;", "&")).status_code == 200, address


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (SECRET_URL, "https://hooks.example.org/…"),
        ("https://user:pass@hooks.example.org", "https://hooks.example.org/"),
        ("https://hooks.example.org/#x", "https://hooks.example.org/…"),
        ("", ""),
    ],
)
def test_a_webhook_is_shown_without_what_opens_it(url: str, shown: str) -> None:
    assert host_of(url) == shown


def test_who_only_looks_sees_where_a_webhook_leads_and_not_its_token(member: Member, api: Api) -> None:
    agent = Agent.objects.get(name="main")
    row = Platform.objects.create(
        agent=agent, platform="slack", webhook_url=SECRET_URL, webhook_secret="whsec_A"
    )
    address = f"/admin/gateway_app/platform/{row.pk}/change/"
    for group in ("viewer", "operator"):
        text = member(group).get(address).content.decode()
        assert "https://hooks.example.org/…" in text
        assert not [part for part in ("abc123", "xyz", "whsec_A", "rotate_secret") if part in text]
    assert "abc123" in member("admin").get(address).content.decode()


def test_no_summary_memory_or_report_runs_anything(api: Api, root: Client) -> None:
    uid = api.open("attacks")
    agent, session = Agent.objects.get(name="main"), Session.objects.get(uid=uid)
    api.append(uid, {"kind": "error", "error": "x"})
    api.post("/reflections")
    report = Reflection.objects.get()
    [item] = report.stats["error_items"]
    report.stats["error_items"] = [{**item, "text": text} for text in ATTACKS]
    report.save()
    evil = "\n\n".join(ATTACKS[:-4])
    made = (
        Consolidation.objects.create(
            agent=agent, session=session, from_seq=1, through_seq=1, trigger="asked", engine="extractive",
            entries=1, tokens_before=1, tokens_after=1, summary=evil,
        ),
        MemoryRevision.objects.create(agent=agent, version=1, content=evil, author=evil[:100]),
        report,
    )  # fmt: skip
    for row in made:
        text = root.get(f"/admin/sessions_app/{row._meta.model_name}/{row.pk}/change/").content.decode()
        assert "evil.example" in text, "what was written is shown"
        assert faults(text) == []
