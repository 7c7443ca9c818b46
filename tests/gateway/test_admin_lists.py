"""Leases and deliveries are found, and forms are begun, with what an operator has at hand."""

import re
from typing import Any

import pytest
from django.db.models import Model
from django.test import Client

from gateway_app.models import Delivery, Lease, Person, Platform, ResetPolicy
from sessions_app.models import Agent
from tests.conftest import Api

from .conftest import Clock, Resolve, admin_page
from .outgoing import connect


def found(client: Client, address: str) -> list[str]:
    context: Any = client.get(address).context
    return sorted(str(row) for row in context["cl"].result_list)


@pytest.fixture
def leased(api: Api, resolve: Resolve) -> str:
    """The id of one of two sessions that are held."""
    ids = [resolve(chat_id=chat)["session"]["id"] for chat in ("42", "43")]
    for name, session in zip(("build", "index"), ids, strict=True):
        api.send("PUT", f"/sessions/{session}/leases/{name}", {"ttl_seconds": 60})
    return str(ids[0])


def test_leases_are_found_by_name_session_and_agent(leased: str, operator: Client, stranger: Api) -> None:
    page = admin_page(Lease)
    assert found(operator, page) == ["build", "index"]
    assert found(operator, f"{page}?q=ind") == ["index"]
    assert found(operator, f"{page}?q=dm:42") == ["build"]
    assert found(operator, f"{page}?q={leased}") == ["build"]
    other = Agent.objects.get(name="other")
    assert found(operator, f"{page}?session__agent__id__exact={other.pk}") == []


def test_a_lease_leads_to_its_session(leased: str, operator: Client) -> None:
    session = Lease.objects.get(name="build").session
    text = operator.get(admin_page(Lease)).content.decode()
    assert f'href="{admin_page(type(session), "change", session.pk)}">{session.key}</a>' in text


def test_deliveries_are_found_by_platform_and_session(
    clock: Clock, api: Api, resolve: Resolve, operator: Client
) -> None:
    connect("telegram", "https://hooks.example/")
    session = resolve()["session"]["id"]
    for given in ({"target": "local"}, {"target": "telegram:1"}, {"target": "origin", "session_id": session}):
        assert api.post("/deliveries", {"content": "x", **given}).status_code == 202
    page = admin_page(Delivery)
    assert found(operator, f"{page}?platform=local") == ["local (queued)"]
    assert found(operator, f"{page}?platform=telegram") == ["origin (queued)", "telegram:1 (queued)"]
    assert found(operator, f"{page}?q={session}") == ["origin (queued)"]
    delivery = Delivery.objects.get(target="local")
    assert found(operator, f"{page}?q={delivery.uid}") == ["local (queued)"]
    assert found(operator, f"{page}?q=telegram") == []


@pytest.mark.parametrize("model", [Platform, ResetPolicy, Person])
def test_a_new_row_is_the_only_agents(agent: Agent, operator: Client, model: type[Model]) -> None:
    chosen = re.compile(rf'<option value="{agent.pk}" selected>main</option>')
    assert chosen.search(operator.get(admin_page(model, "add")).content.decode())
    Agent.objects.create(name="second")
    assert not chosen.search(operator.get(admin_page(model, "add")).content.decode())
