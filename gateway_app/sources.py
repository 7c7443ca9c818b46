"""Where a message comes from, and the session key that this makes. Pure: no database, no settings."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args
from uuid import UUID

from gateway_app.plain_text import one_line

ChatType = Literal["dm", "group", "channel", "thread"]
CHAT_TYPES: tuple[str, ...] = get_args(ChatType)
LOCAL = "local"
PLATFORM = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
# Between the number and the device; names and groups have no dot behind a number.
WHATSAPP_AGENT = re.compile(r"(?<=[0-9])\.[0-9]+\Z")
ID_LENGTH = KEY_LENGTH = 512


class BadSource(ValueError):
    """What is said of the source cannot be; the message says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """An empty id or name is the same as none."""

    platform: str
    chat_id: str | None = None
    chat_name: str | None = None
    chat_type: str = "dm"
    user_id: str | None = None
    user_name: str | None = None
    thread_id: str | None = None

    def __post_init__(self) -> None:
        platform_slug(self.platform)
        if self.chat_type not in CHAT_TYPES:
            raise BadSource(f"A chat type is one of {', '.join(CHAT_TYPES)}.")
        for value in (self.chat_id, self.user_id, self.thread_id):
            id_text(value or "")

    def as_json(self) -> dict[str, str | None]:
        return {name: value or None for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Source":
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in names})


def platform_slug(text: str) -> str:
    if not PLATFORM.match(text):
        raise BadSource(
            "A platform is 1 to 64 lower-case letters, digits, dots, underscores and hyphens, "
            "the first a letter or digit."
        )
    return text


def id_text(value: object) -> str:
    """An id as text; platforms that number their chats may send the number."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise BadSource("An id is a text or an integer.")
    if len(text) > ID_LENGTH:
        raise BadSource(f"An id has at most {ID_LENGTH} characters.")
    return text


def session_key(
    agent: str,
    source: Source,
    dm_scope: str = "chat",
    group_scope: str = "chat",
    person: UUID | None = None,
) -> str:
    """Two sources share a key only where the scopes, or a person whom an operator linked, say so."""
    parts = ["agent", agent, *_place(source, dm_scope, group_scope, person)]
    key = ":".join(parts)
    if len(key) > KEY_LENGTH:
        raise BadSource(f"The source's ids make a session key of {len(key)} characters, over {KEY_LENGTH}.")
    return key


def _place(source: Source, dm_scope: str, group_scope: str, person: UUID | None) -> list[str]:
    if source.chat_type == "dm":
        # No platform begins with @, so a person's key is no platform's.
        if person is not None:
            return [f"@{person}", "dm"]
        if dm_scope == "owner":
            return [source.platform, "dm"]
    return [source.platform, source.chat_type, *_room(source, group_scope)]


def _room(source: Source, group_scope: str) -> list[str]:
    chat, user = compared(source.platform, source.chat_id), compared(source.platform, source.user_id)
    in_thread = bool(source.thread_id) or source.chat_type == "thread"
    by_user = not chat if source.chat_type == "dm" else group_scope == "user" and not in_thread
    parts = [escaped(chat)] if chat else []
    if source.thread_id:
        parts.append(f"t={escaped(source.thread_id)}")
    if by_user and user:
        parts.append(f"u={escaped(user)}")
    return parts


def escaped(part: str) -> str:
    """A part never looks like two of them, nor like one that is labelled."""
    return part.replace("%", "%25").replace(":", "%3A").replace("=", "%3D")


def compared(platform: str, identifier: str | None) -> str:
    """The form in which chat and user ids are told apart; empty for none."""
    given = identifier or ""
    if platform != "whatsapp":
        return given
    # The same account is written +49170, 49170@s.whatsapp.net and, by its devices, 49170:2@… or 49170.0:2@…
    account = given.partition("@")[0].partition(":")[0].lstrip("+")
    return WHATSAPP_AGENT.sub("", account) or given


def describe(source: Source) -> str:
    """How agents and operators see it: one line, whatever the names are."""
    if source.platform == LOCAL:
        return "CLI terminal"
    thread = one_line(source.thread_id or "")
    return _chat(source) + (f", thread: {thread}" if thread else "")


def _chat(source: Source) -> str:
    if source.chat_type == "dm":
        return f"DM with {_first(source.user_name, source.user_id) or 'user'}"
    named = _first(source.chat_name, source.chat_id)
    if source.chat_type == "thread":
        return named or "thread"
    return f"{source.chat_type}: {named}" if named else source.chat_type


def _first(*texts: str | None) -> str:
    """The first of which anything can be seen."""
    return next(filter(None, (one_line(text or "") for text in texts)), "")
