"""Connections to platforms: over HTTP, and what they do to keys and secrets."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_app.models import Platform
from gateway_app.platforms import check_webhook, new_secret
from gateway_app.webhooks import address_of
from sessions_app.problems import Invalid
from tests.conftest import Api, said

from .conftest import Clock, Resolve

URL = "https://hooks.example.org/telegram?token=1"
HOME = {"chat_id": "-100", "name": "Family", "thread_id": "7"}


def put(who: Api, platform: str = "telegram", **fields: Any) -> Any:
    response = who.send("PUT", f"/platforms/{platform}", fields)
    assert response.status_code == 200, response.content
    return said(response)


def refused(who: Api, platform: str = "telegram", **fields: Any) -> Any:
    response = who.send("PUT", f"/platforms/{platform}", fields)
    assert response.status_code == 422, response.content
    return said(response)["errors"][0]


def test_a_connection_is_stored_and_read_again(clock: Clock, admin: Api, reader: Api) -> None:
    made = put(admin, webhook_url=URL, home_channel=HOME, dm_scope="owner", group_scope="user")
    secret = made.pop("webhook_secret")
    assert made == {
        "platform": "telegram",
        "enabled": True,
        "connected": True,
        "home_channel": HOME,
        "webhook_url": URL,
        "dm_scope": "owner",
        "group_scope": "user",
        "created_at": "2026-05-01T12:00:00+00:00",
        "updated_at": "2026-05-01T12:00:00+00:00",
    }
    assert said(reader.get("/platforms/telegram")) == made
    assert said(reader.get("/platforms")) == {"items": [made], "next_cursor": None}
    assert Platform.objects.get().webhook_secret == secret


def test_what_is_left_out_has_its_default_again(clock: Clock, admin: Api) -> None:
    put(admin, webhook_url=URL, home_channel=HOME, dm_scope="owner", group_scope="user", enabled=False)
    clock.move(hours=1)
    assert put(admin) == {
        "platform": "telegram",
        "enabled": True,
        "connected": False,
        "home_channel": None,
        "webhook_url": None,
        "dm_scope": "chat",
        "group_scope": "chat",
        "created_at": "2026-05-01T12:00:00+00:00",
        "updated_at": "2026-05-01T13:00:00+00:00",
        "webhook_secret": None,
    }


@pytest.mark.parametrize(
    ("fields", "connected"),
    [
        ({"webhook_url": URL}, True),
        ({"webhook_url": URL, "enabled": False}, False),
        ({}, False),
        ({"webhook_url": ""}, False),
    ],
)
def test_connected_is_enabled_and_with_a_webhook(admin: Api, fields: dict[str, Any], connected: bool) -> None:
    assert put(admin, **fields)["connected"] is connected


def test_the_secret_is_answered_once_when_it_is_made(admin: Api) -> None:
    assert put(admin)["webhook_secret"] is None
    secret = put(admin, webhook_url=URL)["webhook_secret"]
    assert secret.startswith("whsec_")
    assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32
    assert put(admin, webhook_url=URL + "2")["webhook_secret"] is None
    assert Platform.objects.get().webhook_secret == secret
    for path in ("/platforms", "/platforms/telegram"):
        assert "secret" not in admin.get(path).content.decode()


def test_a_secret_is_made_anew_when_somebody_asks(admin: Api) -> None:
    first = put(admin, webhook_url=URL)["webhook_secret"]
    second = put(admin, webhook_url=URL, rotate_secret=True)["webhook_secret"]
    assert second not in (None, first)
    assert Platform.objects.get().webhook_secret == second


def test_no_two_secrets_are_the_same() -> None:
    assert len({new_secret() for _ in range(100)}) == 100


def test_an_integer_is_taken_as_its_decimal_text(admin: Api) -> None:
    made = put(admin, home_channel={"chat_id": -100123, "thread_id": 0})
    assert made["home_channel"] == {"chat_id": "-100123", "name": None, "thread_id": "0"}


def test_pages_stay_whole_while_connections_are_added(admin: Api, reader: Api) -> None:
    names = ["c", "a", "b"]
    for name in names:
        put(admin, name)
    first = said(reader.get("/platforms?limit=2"))
    put(admin, "0")
    rest = said(reader.get(f"/platforms?limit=2&cursor={first['next_cursor']}"))
    assert [item["platform"] for item in first["items"] + rest["items"]] == [*names, "0"]
    assert rest["next_cursor"] is None


def test_a_removed_connection_is_gone(admin: Api) -> None:
    put(admin)
    assert admin.send("DELETE", "/platforms/telegram").status_code == 204
    assert admin.send("DELETE", "/platforms/telegram").status_code == 404
    assert admin.get("/platforms/telegram").status_code == 404


@pytest.mark.parametrize("name", ["slack", "Telegram", "tele%00gram", "x" * 65, "%F0%9F%98%80"])
def test_what_is_no_connection_is_not_found(admin: Api, name: str) -> None:
    put(admin)
    assert admin.get(f"/platforms/{name}").status_code == 404
    assert admin.send("DELETE", f"/platforms/{name}").status_code == 404


@pytest.mark.parametrize("name", ["Telegram", "local", "origin", "x" * 65, "-x", "a%20b", "%C3%A9"])
def test_a_name_that_cannot_be_a_platforms_is_refused(admin: Api, name: str) -> None:
    assert refused(admin, name)["loc"] == ["path", "platform"]
    assert not Platform.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "loc"),
    [
        ("enabled", "yes", ["enabled"]),
        ("dm_scope", "user", ["dm_scope"]),
        ("group_scope", "owner", ["group_scope"]),
        ("secret", "whsec_", ["secret"]),
        ("home_channel", {"name": "x"}, ["home_channel", "chat_id"]),
        ("home_channel", {"chat_id": ""}, ["home_channel", "chat_id"]),
        ("home_channel", {"chat_id": "x" * 513}, ["home_channel", "chat_id"]),
        ("home_channel", {"chat_id": "1", "name": "x" * 513}, ["home_channel", "name"]),
        ("home_channel", {"chat_id": "1", "topic": "x"}, ["home_channel", "topic"]),
        ("webhook_url", "https://x.example/" + "a" * 2048, ["webhook_url"]),
    ],
)
def test_a_wrong_field_is_named(admin: Api, field: str, value: Any, loc: list[str]) -> None:
    assert refused(admin, **{field: value})["loc"] == ["body", *loc]
    assert not Platform.objects.exists()


@pytest.mark.parametrize(
    "url",
    [
        "x",
        "ftp://x.example/",
        "https://",
        "https://user@x.example/",
        "https://user:password@x.example/",
        "https://x.example:99999/",
        "https://x.example\\@127.0.0.1/",
        "https://x.example/a b",
        " https://x.example/",
        "https://x.example/\n",
        "https://x.exa\tmple/",
        "https://x.example/\u00e9",
        "https://b\u00fccher.example/",
        "https://x\u3002example/",
        "https://x.example/\u202e",
        "javascript:alert(1)",
    ],
)
def test_a_webhook_that_cannot_be_reached_is_refused(admin: Api, url: str) -> None:
    assert refused(admin, webhook_url=url)["loc"] == ["body", "webhook_url"]
    assert not Platform.objects.exists()


@given(st.text(max_size=12), st.text(max_size=12))
def test_a_webhook_that_is_taken_holds_plain_ascii_alone(host: str, path: str) -> None:
    url = f"https://{host}.example/{path}"
    try:
        check_webhook(url)
    except Invalid:
        return
    assert all("!" <= character <= "~" and character != "\\" for character in url)
    address_of(url)


def test_only_admins_change_connections(api: Api, admin: Api) -> None:
    put(admin)
    assert api.send("PUT", "/platforms/slack", {}).status_code == 403
    assert api.send("DELETE", "/platforms/telegram").status_code == 403
    assert [row.platform for row in Platform.objects.all()] == ["telegram"]


def test_a_connection_of_one_agent_is_nothing_to_another(admin: Api, stranger: Api) -> None:
    put(admin, webhook_url=URL)
    assert stranger.get("/platforms/telegram").status_code == 404
    assert stranger.send("DELETE", "/platforms/telegram").status_code == 404
    assert said(stranger.get("/platforms"))["items"] == []
    assert put(stranger, webhook_url=URL + "2")["webhook_secret"]
    assert said(admin.get("/platforms/telegram"))["webhook_url"] == URL


def test_dm_scope_owner_gives_all_dms_one_session(admin: Api, resolve: Resolve) -> None:
    apart = {resolve(chat_id=chat)["session"]["key"] for chat in ("1", "2")}
    assert apart == {"agent:main:telegram:dm:1", "agent:main:telegram:dm:2"}
    put(admin, dm_scope="owner", enabled=False)
    shared = {resolve(chat_id=chat)["session"]["key"] for chat in ("1", "2")}
    assert shared == {"agent:main:telegram:dm"}
    assert resolve(platform="slack", chat_id="1")["session"]["key"] == "agent:main:slack:dm:1"


def test_group_scope_user_gives_each_user_of_a_room_a_session(admin: Api, resolve: Resolve) -> None:
    put(admin, group_scope="user")
    room = {"chat_type": "group", "chat_id": "9", "user_id": "5"}
    assert resolve(**room)["session"]["key"] == "agent:main:telegram:group:9:u=5"
    assert resolve(**room, thread_id="t")["session"]["key"] == "agent:main:telegram:group:9:t=t"
