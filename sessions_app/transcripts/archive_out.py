"""Writes the archive of an agent, or of some of its sessions."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import orjson

from sessions_app.access import Caller
from sessions_app.models import Agent, Session
from sessions_app.objects import iso
from sessions_app.redaction import Redactor
from sessions_app.transcripts import archive
from sessions_app.transcripts.reading import rows_of


def write(
    caller: Caller,
    sessions: Iterable[Session],
    now: datetime,
    *,
    redactor: Redactor | None = None,
    whole: bool = True,
) -> Iterator[bytes]:
    """`whole`: with what belongs to the agent and to no session."""
    agent = Agent.objects.get(pk=caller.agent_id)
    settings = {name: getattr(agent, name) for name in archive.AGENT_COLUMNS} | {"name": agent.name}
    yield _line({"daybook": archive.VERSION, "exported_at": iso(now), "agent": settings})
    if whole:
        yield from _kept(
            (name, part.dump_agent(caller)) for name, part in archive.parts.items() if part.dump_agent
        )
    count = entries = 0
    for session in sessions:
        yield _line({archive.SESSION: _shown(_session(session), redactor)})
        for row in rows_of(session, include_hidden=True, only=None):
            entries += 1
            yield _line({archive.MESSAGE: _message(row, redactor)})
        found = archive.parts.items()
        for name, records in (
            (name, part.dump_session(session)) for name, part in found if part.dump_session
        ):
            for record in records:
                yield _line({name: _shown(record, redactor)})
        count += 1
    yield _line({archive.END: {"sessions": count, "messages": entries}})


def _kept(found: Iterable[tuple[str, Iterator[dict[str, Any]]]]) -> Iterator[bytes]:
    for name, records in found:
        for record in records:
            yield _line({name: record})


def _session(session: Session) -> dict[str, Any]:
    columns = {name: getattr(session, name) for name in archive.SESSION_COLUMNS}
    columns |= {name: iso(columns[name]) for name in archive.TIMES}
    previous, forked = session.previous_id, session.forked_from_id
    return {
        "id": str(session.uid),
        **columns,
        "previous_id": str(previous) if previous else None,
        "forked_from_id": str(forked) if forked else None,
        "entries": session.last_seq,
    }


def _message(row: dict[str, Any], redactor: Redactor | None) -> dict[str, Any]:
    fields = {
        "seq": row["seq"],
        "kind": row["kind"],
        "created_at": iso(row["created_at"]),
        "hidden_by": row["hidden_by"],
    }
    if redactor is None:
        return fields | {
            "body": orjson.Fragment(row["body"]),
            "extra": orjson.Fragment(row["extra"]) if row["extra"] else None,
        }
    extra = orjson.loads(row["extra"]) if row["extra"] else None
    return fields | {"body": redactor.value(orjson.loads(row["body"])), "extra": redactor.value(extra)}


def _shown(value: Any, redactor: Redactor | None) -> Any:
    return value if redactor is None else redactor.value(value)


def _line(value: dict[str, Any]) -> bytes:
    return orjson.dumps(value) + b"\n"
