"""Where a delivery goes, as its sender writes it. Pure: what is connected is looked up elsewhere.

`origin`, `local`, `<platform>` or `<platform>:<chat_id>[:<thread_id>]`. An id that holds `:` or `%` is
written with `%3A` and `%25`, as in session keys; any other `%` stands for itself.
"""

import re
from dataclasses import dataclass

ORIGIN, LOCAL = "origin", "local"
ID_LENGTH = 512

_PLATFORM = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
_ESCAPE = re.compile(r"%(3[Aa]|3[Dd]|25)")
_ESCAPED = {"3a": ":", "3d": "=", "25": "%"}


class BadTarget(ValueError):
    """What was written names no place; the message says what would."""


@dataclass(frozen=True, slots=True)
class Target:
    """Without a chat id: the platform's home channel."""

    platform: str
    chat_id: str = ""
    thread_id: str = ""


def parse(text: str) -> Target:
    platform, *ids = text.split(":")
    platform = platform.strip().lower()
    if not _PLATFORM.match(platform):
        raise BadTarget("A target is origin, local, <platform> or <platform>:<chat_id>[:<thread_id>].")
    if platform in (ORIGIN, LOCAL) and ids:
        raise BadTarget(f"{platform} stands alone, without a chat id.")
    if len(ids) > 2:
        raise BadTarget("A chat id and a thread id at the most; write a colon inside an id as %3A.")
    if not all(ids):
        raise BadTarget("An id after a colon may not be empty.")
    found = [_unescaped(part) for part in ids]
    if any(len(part) > ID_LENGTH for part in found):
        raise BadTarget(f"An id has at most {ID_LENGTH} characters.")
    return Target(platform, *found)


def written(target: Target) -> str:
    """The one text that `parse` reads as this target."""
    ids = [target.chat_id, target.thread_id] if target.thread_id else [target.chat_id]
    return ":".join([target.platform, *(_escaped(part) for part in ids if part)])


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace(":", "%3A")


def _unescaped(part: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPED[found[1].lower()], part)
