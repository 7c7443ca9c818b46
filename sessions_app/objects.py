"""The session and message objects of the HTTP contract, made from rows."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson

from sessions_app.access import Caller
from sessions_app.entries import ANSWERED
from sessions_app.models import Message
from sessions_app.storage.statements import SESSION_COLUMNS

PREVIEW = 500
_NOTHING: dict[str, Any] = dict.fromkeys(ANSWERED)

Row = Mapping[str, Any]
MESSAGE_COLUMNS = ("seq", "kind", "role", "body", "extra", "created_at", "hidden_by")
__all__ = [
    "MESSAGE_COLUMNS",
    "SESSION_COLUMNS",
    "message_id",
    "message_object",
    "session_object",
    "session_objects",
]


def session_objects(rows: Sequence[Row], caller: Caller) -> list[dict[str, Any]]:
    leased = [row["id"] for row in rows if row["leased_until"] is not None]
    blocked = caller.resets.blocked_by(leased) if leased else {}
    return [_session_object(row, caller, blocked.get(row["id"], [])) for row in rows]


def session_object(row: Row, caller: Caller) -> dict[str, Any]:
    return session_objects([row], caller)[0]


def _session_object(row: Row, caller: Caller, blocked_by: list[str]) -> dict[str, Any]:
    created_at = iso(row["created_at"])
    return {
        "id": uid_text(row["uid"]),
        "agent": caller.agent,
        "key": row["key"],
        "title": row["title"] or None,
        "platform": row["platform"] or None,
        "chat_type": row["chat_type"] or None,
        "source": _json(row["source"]),
        "created_at": created_at,
        "updated_at": iso(row["updated_at"]),
        "ended_at": iso(row["ended_at"]),
        "end_reason": row["end_reason"] or None,
        "previous_id": uid_text(row["previous_id"]),
        "forked_from_id": uid_text(row["forked_from_id"]),
        "metadata": _json(row["metadata"]),
        "counts": counts(row),
        "tokens": tokens(row),
        "cost_usd": row["cost_usd"],
        "consolidated_through": row["consolidated_through"],
        "last_activity_at": iso(row["active_at"]) or created_at,
        "next_reset_at": iso(caller.resets.next_at(row)),
        "reset_blocked_by": blocked_by,
        "was_auto_reset": bool(row["was_auto_reset"]),
        "reset_reason": row["reset_reason"] or None,
    }


def is_subject_to_resets(row: Row) -> bool:
    """Open, and not just as it was imported: until somebody goes on with it, no policy ends that."""
    if row["ended_at"] is not None:
        return False
    if row["imported_through"] is None or row["imported_through"] != row["last_seq"]:
        return True
    active, last = row["active_at"], row["last_at"]
    return active is not None and (last is None or utc(active) > utc(last))


def counts(row: Row) -> dict[str, int]:
    return {
        "entries": row["last_seq"],
        "messages": row["messages_count"],
        "tool_calls": row["tool_calls_count"],
        "errors": row["errors_count"],
        "decisions": row["decisions_count"],
    }


def tokens(row: Row) -> dict[str, int]:
    given, made = row["input_tokens"], row["output_tokens"]
    return {"input": given, "output": made, "total": given + made}


def message_object(row: Row, session_id: str, *, preview: bool = False) -> dict[str, Any]:
    """`preview` cuts a tool's result, which may be a megabyte, where messages are listed."""
    message = {
        **_NOTHING,
        **orjson.loads(row["body"]),
        **(orjson.loads(row["extra"]) if row["extra"] else {}),
        "id": message_id(session_id, row["seq"]),
        "seq": row["seq"],
        "kind": row["kind"],
        "created_at": iso(row["created_at"]),
        "hidden": bool(row["hidden_by"]),
    }
    if preview:
        message["truncated"] = _cut_result(message)
    return message


def message_row(message: Message) -> dict[str, Any]:
    return {column: getattr(message, column) for column in MESSAGE_COLUMNS}


def message_id(session_id: str, seq: int) -> str:
    """Made of the session's id and the seq: it needs no index of its own and tells no counts."""
    return f"{session_id}.{seq}"


def uid_text(uid: UUID | str | None) -> str | None:
    if uid is None:
        return None
    return (
        str(uid) if isinstance(uid, UUID) else f"{uid[:8]}-{uid[8:12]}-{uid[12:16]}-{uid[16:20]}-{uid[20:]}"
    )


def utc(moment: datetime | str) -> datetime:
    """Of what a row holds: SQLite's driver hands out times without an offset, or texts."""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def iso(moment: datetime | str | None) -> str | None:
    """In UTC with its offset. SQLite's driver hands out texts without one where a statement returns rows."""
    if moment is None:
        return None
    if isinstance(moment, str):
        return f"{moment[:10]}T{moment[11:]}+00:00"
    return utc(moment).isoformat()


def _json(value: Any) -> Any:
    return orjson.Fragment(value) if isinstance(value, str) else value


def _cut_result(message: dict[str, Any]) -> bool:
    result = message["result"]
    if result is None:
        return False
    text = result if isinstance(result, str) else orjson.dumps(result).decode()
    if len(text) <= PREVIEW:
        return False
    message["result"] = text[:PREVIEW]
    return True
