"""Keys and platforms at the admin: their secrets are shown once, and the rest is as over the API."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from gateway_app.models import ApiKey, Platform
from sessions_app.models import Agent
from tests.conftest import Api, said

from .admin_forms import act, refused, stored, told
from .conftest import NOON, Clock, admin_page

URL = "https://hooks.example.org/"
PLATFORM = {"platform": "telegram", "enabled": "on", "dm_scope": "chat", "group_scope": "chat"}


def test_a_new_key_is_shown_once_on_the_answer_itself(agent: Agent, operator: Client) -> None:
    answer = stored(
        operator, admin_page(ApiKey, "add"), name="laptop", agent=agent.pk, scopes=["write", "read"]
    )
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    text = answer.content.decode()
    (secret,) = re.findall(r"dbk_[\w-]{43}", text)
    key = ApiKey.objects.get(name="laptop")
    assert (key.agent, key.scopes, key.prefix) == (agent, ["read", "write"], secret[:12])
    assert Api(secret, None).post("/sessions", {"key": "a"}).status_code == 201
    assert told(answer) == []
    assert secret not in str(dict(operator.session)) + str(operator.cookies)
    for address in (admin_page(ApiKey), admin_page(ApiKey, "change", key.pk)):
        assert secret not in operator.get(address).content.decode()
    assert secret not in str(list(LogEntry.objects.values()))


def test_without_an_agent_it_is_an_operators_key(agent: Agent, operator: Client) -> None:
    answer = stored(operator, admin_page(ApiKey, "add"), name="all", scopes=["read"])
    (secret,) = re.findall(r"dbk_[\w-]{43}", answer.content.decode())
    assert Api(secret, None).get("/sessions", X_Daybook_Agent="main").status_code == 200


def test_a_key_needs_a_scope_and_a_name(operator: Client) -> None:
    assert refused(operator, admin_page(ApiKey, "add"), name="x") == "This field is required."
    assert refused(operator, admin_page(ApiKey, "add"), scopes=["read"]) == "This field is required."
    assert "not one of the available choices" in refused(
        operator, admin_page(ApiKey, "add"), name="x", scopes=["root"]
    )
    assert not ApiKey.objects.exists()


def test_name_and_end_can_be_changed_and_rights_cannot(clock: Clock, api: Api, operator: Client) -> None:
    key = ApiKey.objects.get()
    fields = {
        "name": "new",
        "expires_at_0": "2026-05-01",
        "expires_at_1": "12:00:00",
        "scopes": ["admin"],
    }
    stored(operator, admin_page(ApiKey, "change", key.pk), **fields)
    key.refresh_from_db()
    assert (key.name, key.scopes, key.expires_at) == ("new", ["write"], NOON)
    assert api.get("/sessions").status_code == 401


def test_a_revoked_key_opens_nothing(clock: Clock, api: Api, operator: Client) -> None:
    act(operator, "revoke", ApiKey.objects.get())
    assert ApiKey.objects.get().revoked_at == NOON
    assert api.get("/sessions").status_code == 401
    clock.move(hours=1)
    act(operator, "revoke", ApiKey.objects.get())
    assert ApiKey.objects.get().revoked_at == NOON
    assert [entry.change_message for entry in LogEntry.objects.all()] == ["Revoked."]


def test_a_new_platforms_secret_is_shown_once(agent: Agent, operator: Client) -> None:
    add = admin_page(Platform, "add")
    answer = stored(operator, add, agent=agent.pk, webhook_url=URL, **PLATFORM)
    row = Platform.objects.get()
    assert row.webhook_secret.startswith("whsec_")
    assert row.webhook_secret in answer.content.decode()
    assert "no-store" in answer.headers["Cache-Control"]
    change = admin_page(Platform, "change", row.pk)
    again = stored(operator, change, home_chat_id="5", webhook_url=URL, **PLATFORM)
    assert again.status_code == 302
    kept = Platform.objects.get()
    assert (kept.webhook_secret, kept.home_chat_id) == (row.webhook_secret, "5")


def test_a_secret_is_made_anew_by_form_and_by_action(agent: Agent, operator: Client) -> None:
    stored(operator, admin_page(Platform, "add"), agent=agent.pk, **PLATFORM)
    row = Platform.objects.get()
    seen = {row.webhook_secret}
    assert seen == {""}
    change = admin_page(Platform, "change", row.pk)
    for by_form in (True, False):
        if by_form:
            answer = stored(operator, change, rotate_secret="on", **PLATFORM)
        else:
            answer = act(operator, "rotate", row)
        text = answer.content.decode()
        row.refresh_from_db()
        assert row.webhook_secret not in seen
        assert row.webhook_secret in text
        seen.add(row.webhook_secret)


def test_it_says_what_the_api_says(agent: Agent, operator: Client, reader: Api) -> None:
    fields = {"home_chat_id": "1", "home_name": "Home", "webhook_url": URL, "dm_scope": "owner"}
    stored(operator, admin_page(Platform, "add"), agent=agent.pk, **PLATFORM | fields)
    shown = said(reader.get("/platforms/telegram"))
    assert shown["home_channel"] == {"chat_id": "1", "name": "Home", "thread_id": None}
    assert (shown["connected"], shown["dm_scope"], shown["webhook_url"]) == (True, "owner", URL)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"platform": "local"}, "local is there without a connection"),
        ({"platform": "tele gram"}, "A platform is 1 to 64 lower-case letters"),
        ({"webhook_url": "https://x.example\\@y"}, "no spaces and no backslashes"),
        ({"webhook_url": "ftp://x.example/"}, "no http or https address"),
        ({"home_name": "Home"}, "A home channel needs the id of its chat."),
    ],
)
def test_what_cannot_be_is_refused_on_the_form(
    agent: Agent, operator: Client, fields: dict[str, str], message: str
) -> None:
    given = {**PLATFORM, "agent": agent.pk, **fields}
    assert message in refused(operator, admin_page(Platform, "add"), **given)
    assert not Platform.objects.exists()


def test_a_platform_that_is_there_is_not_added_again(agent: Agent, operator: Client) -> None:
    add = admin_page(Platform, "add")
    stored(operator, add, agent=agent.pk, **PLATFORM)
    said_so = refused(operator, add, agent=agent.pk, webhook_url=URL, **PLATFORM)
    assert "already exists" in said_so
    assert Platform.objects.get().webhook_url == ""


def test_a_removed_one_is_gone(agent: Agent, operator: Client, reader: Api) -> None:
    stored(operator, admin_page(Platform, "add"), agent=agent.pk, **PLATFORM)
    operator.post(admin_page(Platform, "delete", Platform.objects.get().pk), {"post": "yes"})
    assert reader.get("/platforms/telegram").status_code == 404
