"""Connections to chat platforms: where messages go, and how a platform's chats become sessions."""

import base64
import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.db.models import QuerySet

from gateway_app.models import DmScope, GroupScope, Platform
from gateway_app.people import person_of
from gateway_app.sources import PLATFORM, BadSource, Source, platform_slug, session_key
from gateway_app.targets import LOCAL, ORIGIN
from gateway_app.webhooks import SECRET_PREFIX, BadWebhook, address_of
from sessions_app import paging
from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.objects import iso
from sessions_app.problems import NotFound, invalid

SECRET_BYTES = 32
# Before anything is parsed: parsers drop line breaks, or take a backslash for a slash, each in its own way.
WEBHOOK_URL = re.compile(r"[!-\[\]-~]{1,2048}\Z")


class SetUp(NamedTuple):
    connection: Platform
    # Only where it was just made: nobody is shown it again.
    secret: str | None


def scopes_of(agent_id: int, platform: str) -> tuple[str, str]:
    """How DMs and rooms of a platform are kept apart. A connection that is switched off still says so."""
    found = Platform.objects.filter(agent_id=agent_id, platform=platform)
    return found.values_list("dm_scope", "group_scope").first() or (DmScope.CHAT, GroupScope.CHAT)


def key_of(caller: Caller, source: Source) -> str:
    dm_scope, group_scope = scopes_of(caller.agent_id, source.platform)
    person = person_of(caller.agent_id, source)
    try:
        return session_key(caller.agent, source, dm_scope, group_scope, person)
    except BadSource as error:
        raise invalid(["body", "source"], str(error), "too_long") from None


def set_up(
    agent_id: int, platform: str, values: Mapping[str, Any], now: datetime, *, rotate_secret: bool = False
) -> SetUp:
    """Sets the connection whole, whatever it was before; its secret stays unless a new one is asked for."""
    check_name(platform)
    if values["webhook_url"]:
        check_webhook(values["webhook_url"])

    def work() -> SetUp:
        of_agent = Platform.objects.select_for_update().filter(agent_id=agent_id)
        place = {"agent_id": agent_id, "platform": platform}
        row, _ = of_agent.get_or_create(place | {"created_at": now}, platform=platform)
        secret = None
        if rotate_secret or (values["webhook_url"] and not row.webhook_secret):
            secret = new_secret()
        for name, value in (dict(values) | {"updated_at": now}).items():
            setattr(row, name, value)
        row.webhook_secret = secret or row.webhook_secret
        row.save()
        return SetUp(row, secret)

    return commit(work)


def rotate_secret(connection: Platform, now: datetime) -> str:
    """The old one signs nothing from here on."""
    secret = new_secret()
    row = Platform.objects.filter(pk=connection.pk)
    commit(lambda: row.update(webhook_secret=secret, updated_at=now))
    return secret


def new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def check_name(platform: str) -> None:
    try:
        platform_slug(platform)
    except BadSource as error:
        raise invalid(["path", "platform"], str(error), "platform") from None
    if platform in (LOCAL, ORIGIN):
        raise invalid(
            ["path", "platform"], f"{platform} is there without a connection and cannot have one.", "reserved"
        )


def check_webhook(url: str) -> None:
    loc = ["body", "webhook_url"]
    if not WEBHOOK_URL.match(url):
        raise invalid(
            loc,
            "It may hold ASCII letters, digits and signs only, no spaces and no backslashes; "
            "write anything else percent-encoded and a host name in its xn-- form.",
            "url",
        )
    try:
        address_of(url)
    except BadWebhook as error:
        raise invalid(loc, str(error), "url") from None


def host_of(url: str) -> str:
    """Where a webhook leads, without what opens the door there."""
    parts = urlsplit(url)
    hides = parts.path.strip("/") or parts.query or parts.fragment
    return f"{parts.scheme}://{parts.hostname}/{'…' if hides else ''}" if url else ""


def remove(caller: Caller, platform: str) -> None:
    """What still waits to be sent there will not be: it is dead at its next attempt."""
    if not commit(lambda: _named(caller, platform).delete()[0]):
        raise NotFound("There is no such platform.")


def one(caller: Caller, platform: str) -> Platform:
    found = _named(caller, platform).first()
    if found is None:
        raise NotFound("There is no such platform.")
    return found


def listed(caller: Caller, cursor: str | None, limit: int) -> paging.Page:
    found = Platform.objects.filter(agent_id=caller.agent_id)
    if cursor is not None:
        found = found.filter(pk__gt=paging.decode(cursor, paging.seq)[0])
    return paging.page(
        list(found.order_by("pk")[: limit + 1]),
        limit,
        lambda rows: [shown(connection) for connection in rows],
        lambda connection: paging.encode(connection.pk),
    )


def connected(agent_id: int) -> list[Platform]:
    """Those to which a message can go, by name."""
    found = Platform.objects.filter(agent_id=agent_id, enabled=True).exclude(webhook_url="")
    # Databases differ in how they sort a hyphen.
    return sorted(found, key=lambda connection: connection.platform)


def is_connected(connection: Platform) -> bool:
    return connection.enabled and bool(connection.webhook_url)


def home_channel(connection: Platform) -> dict[str, str | None] | None:
    if not connection.home_chat_id:
        return None
    return {
        "chat_id": connection.home_chat_id,
        "name": connection.home_name or None,
        "thread_id": connection.home_thread_id or None,
    }


def shown(connection: Platform) -> dict[str, Any]:
    return {
        "platform": connection.platform,
        "enabled": connection.enabled,
        "connected": is_connected(connection),
        "home_channel": home_channel(connection),
        "webhook_url": connection.webhook_url or None,
        "dm_scope": connection.dm_scope,
        "group_scope": connection.group_scope,
        "created_at": iso(connection.created_at),
        "updated_at": iso(connection.updated_at),
    }


def _named(caller: Caller, platform: str) -> QuerySet[Platform]:
    # PostgreSQL would not even be asked for a name with NUL.
    known = platform if PLATFORM.match(platform) else ""
    return Platform.objects.filter(agent_id=caller.agent_id, platform=known)
