"""Which format a file has, by what stands at its beginning."""

import re
from pathlib import Path
from typing import Any

from sessions_app.transcripts.databases import is_database, tables_of
from sessions_app.transcripts.formats import (
    DAYBOOK,
    claude_code,
    codex,
    hermes,
    nanobot,
    openai,
    session_buddy,
    timmy,
)
from sessions_app.transcripts.lines import BOM, NotJson, json_fields, parsed
from sessions_app.transcripts.records import File, Unknown, Unreadable

LOOKED_AT = 50
LONGEST = 1024 * 1024
HERMES_ID = re.compile(r"\d{8}_\d{6}_")
EXPORTED = frozenset({"session_id", "source", "started_at"})
TIMMY = frozenset({"message", "tool_call", "error", "decision"})
CLAUDE = frozenset({*claude_code.TITLES, "file-history-snapshot", "queue-operation", "last-prompt", "mode"})


def format_of(file: File) -> str:
    if is_database(file):
        return _of_database(file)
    first, second = _of_lines, _of_document
    if file.name.endswith(".json"):
        first, second = second, first
    found = first(file) or second(file)
    if found is not None:
        return found
    if file.path.stat().st_size == 0:
        raise Unknown("there is nothing in it")
    raise (
        Unknown("no format that is known here")
        if _is_json(file)
        else Unreadable("it is neither JSON nor a database")
    )


def _is_json(file: File) -> bool:
    """Another program's, and in order; else it is broken."""
    with file.open() as stream:
        lines = (stream.readline(LONGEST) for _ in range(LOOKED_AT))
        if any(parsed(raw.removeprefix(BOM))[0] is not None for raw in lines):
            return True
    with file.open() as stream:
        try:
            next(json_fields(stream), None)
        except NotJson:
            return False
    return True


def _of_database(file: File) -> str:
    tables = tables_of(file)
    if {"sessions", "messages"} <= tables:
        return hermes.NAME
    if session_buddy.TABLE in tables:
        return session_buddy.NAME
    raise Unknown("a database of no program that is known here")


def _of_lines(file: File) -> str | None:
    plain: list[dict[str, Any]] = []
    with file.open() as stream:
        for _ in range(LOOKED_AT):
            raw = stream.readline(LONGEST).removeprefix(BOM)
            value = parsed(raw)[0] if raw.strip() else None
            if isinstance(value, dict):
                if name := _of_line(value):
                    return name
                if "role" in value:
                    plain.append(value)
    return _of_messages(file, plain) if plain else None


def _of_line(line: dict[str, Any]) -> str | None:
    """The first that says yes."""
    has_messages = isinstance(line.get("messages"), list)
    signs = (
        (DAYBOOK, DAYBOOK in line),
        (nanobot.NAME, "_type" in line),
        (codex.NAME, isinstance(line.get("payload"), dict) or _is_first_codex(line)),
        (hermes.NAME, line.get("role") == hermes.META or (has_messages and bool(EXPORTED & line.keys()))),
        (claude_code.NAME, {"uuid", "sessionId"} <= line.keys() or line.get("type") in CLAUDE),
        (openai.NAME, has_messages),
        (timmy.NAME, line.get("type") in TIMMY and "timestamp" in line),
    )
    return next((name for name, is_it in signs if is_it), None)


def _is_first_codex(line: dict[str, Any]) -> bool:
    return {"id", "timestamp", "instructions"} <= line.keys()


def _of_messages(file: File, lines: list[dict[str, Any]]) -> str:
    """Bare messages: by their names and by those of their neighbours."""
    names = set().union(*lines)
    if HERMES_ID.match(file.stem) or names & {"tool_name", "message_id", "finish_reason"}:
        return hermes.NAME
    if (file.path.parent / "sessions.json").exists():
        return hermes.NAME
    if file.stem.startswith("rollout-"):
        return codex.NAME
    return nanobot.NAME if "timestamp" in names else openai.NAME


def _of_document(file: File) -> str | None:
    names: set[str] = set()
    try:
        with file.open() as stream:
            for found in json_fields(stream, frozenset({"messages", "invocations"})):
                names.add(found.name)
                if found.is_item:
                    break
                if isinstance(found.value, dict) and "session_id" in found.value:
                    return hermes.NAME
    except NotJson:
        pass
    if names & {"invocations", "skills"}:
        return session_buddy.NAME
    if Path(file.name).name == "sessions.json" or {"session_id", "messages"} <= names:
        return hermes.NAME
    return openai.NAME if names & {"", "messages"} else None
