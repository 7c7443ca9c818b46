"""The Markdown section that tells an agent where it is. Pure: names and summaries of strangers go in, and
whatever they hold, each line of what comes out is one of ours."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gateway_app.plain_text import one_line
from gateway_app.sources import LOCAL, Source, describe

HEADING = "## Current Session Context"
HERE = "the machine running this agent"
SUMMARY_LINES = 60
SUMMARY_WIDTH = 1000
WHY = {
    "idle": "it had been idle for too long (idle)",
    "daily": "the hour of its daily reset had passed (daily)",
    "all": "it had been idle for too long and the hour of its daily reset had passed (all)",
}


@dataclass(frozen=True, slots=True)
class Home:
    chat_id: str
    name: str = ""
    thread_id: str = ""


@dataclass(frozen=True, slots=True)
class Connection:
    platform: str
    home: Home | None = None


def prompt(source: Source | None, connections: Sequence[Connection], notice: str | None) -> str:
    """Without a source it is a session at this machine, as deliveries to its origin see it too."""
    origin = source or Source(LOCAL)
    parts = [
        [HEADING],
        [*_whereabouts(origin), _connected(connections)],
        _homes(connections),
        list(_options(origin, connections)),
        [notice] if notice else [],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def reset_notice(reason: str, previous_id: str | None, summary: str) -> str:
    """What is said once, after a policy ended the session before."""
    why = WHY.get(reason) or one_line(reason)
    before = f" Previous session: {previous_id}." if previous_id else ""
    told = [f"**Session Reset:** The previous session was ended automatically because {why}.{before}"]
    if lines := _quoted(summary):
        told += ["", "**Summary of the previous session:**", *lines]
    return "\n".join(told)


def _whereabouts(origin: Source) -> Iterator[str]:
    place = HERE if origin.platform == LOCAL else describe(origin)
    yield f"**Source:** {origin.platform.title()} ({place})"
    if name := one_line(origin.user_name or ""):
        yield f"**User:** {name}"
    elif user_id := one_line(origin.user_id or ""):
        yield f"**User ID:** {user_id}"


def _connected(connections: Sequence[Connection]) -> str:
    named = [f"{connection.platform}: Connected ✓" for connection in connections]
    return "**Connected Platforms:** " + ", ".join(["local (files on this machine)", *named])


def _homes(connections: Sequence[Connection]) -> list[str]:
    lines = [f"- {found.platform}: {_home(found.home)}" for found in connections if found.home]
    return ["**Home Channels:**", *lines] if lines else []


def _home(home: Home) -> str:
    thread = one_line(home.thread_id)
    place = f"ID: {one_line(home.chat_id)}" + (f", thread: {thread}" if thread else "")
    return f"{one_line(home.name)} ({place})".lstrip()


def _options(origin: Source, connections: Sequence[Connection]) -> Iterator[str]:
    yield "**Delivery Options:**"
    yield f"- `origin`: {_back(origin, connections)}"
    yield "- `local`: a file on this machine"
    for found in connections:
        if found.home:
            yield f"- `{found.platform}`: its home channel, {_home(found.home)}"
    yield "- `platform:chat_id`: any other chat of a connected platform"


def _back(origin: Source, connections: Sequence[Connection]) -> str:
    if origin.platform == LOCAL:
        return "back to this session, as a file on this machine"
    back = f"back to this chat, {describe(origin)}"
    if any(found.platform == origin.platform for found in connections):
        return back
    # Else the agent would promise an answer that cannot be sent.
    return f"{back} (not possible while {origin.platform} is not connected)"


def _quoted(text: str) -> list[str]:
    """Each line stands behind a mark of ours, so that none is taken for the prompt's own."""
    lines = [f"> {line}" for part in text.splitlines() if (line := one_line(part, SUMMARY_WIDTH))]
    return lines[:SUMMARY_LINES] + (["> …"] if len(lines) > SUMMARY_LINES else [])
