"""What hermes says of a session: in its index, its database, or the first line of a transcript."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from sessions_app.transcripts.records import File, Head, Totals, Usage

INDEX = "sessions.json"
CHAT_TYPES = {
    "dm": "dm",
    "private": "dm",
    "group": "group",
    "supergroup": "group",
    "channel": "channel",
    "thread": "thread",
}
NAMES = ("chat_id", "chat_name", "user_id", "user_name", "thread_id")
BRANCHED = ("_branched_from", "_delegate_from")
Heads = Iterator[Head | Totals]


def of_entry(key: str, entry: dict[str, Any]) -> Heads:
    ref = entry["session_id"]
    yield Head(
        ref,
        entry.get("session_key") or key or f"hermes:{ref}",
        title=_text(entry.get("display_name")),
        metadata=_beside(entry, ("origin", "display_name")),
        source=_source(entry.get("origin") or entry),
        created_at=entry.get("created_at") or entry.get("updated_at"),
        updated_at=entry.get("updated_at"),
        previous_ref=_text(entry.get("prev_session_id")),
        raw={"entry": entry},
    )
    yield from _totals(ref, entry)


def of_row(ref: str, row: dict[str, Any], file: File) -> Heads:
    """Of the table of sessions, or of an export, which has the same names."""
    entry = _indexed(file, ref)
    origin = row.get("origin") or row.get("origin_json") or entry.get("origin")
    fork = _branched_from(row.get("model_config"))
    yield Head(
        ref,
        _text(row.get("session_key")) or _text(entry.get("session_key")) or f"hermes:{ref}",
        title=_text(row.get("title")) or _text(entry.get("display_name")),
        metadata=_beside(row, ("origin", "origin_json", "system_prompt", "title", "id", "session_id")),
        source=_source(origin if isinstance(origin, dict) else _own_source(row)),
        created_at=row.get("started_at") or entry.get("created_at"),
        updated_at=row.get("last_activity_at") or row.get("ended_at") or entry.get("updated_at"),
        previous_ref="" if fork else _text(row.get("parent_session_id")),
        fork_ref=fork,
        raw={"row": row},
    )
    yield from _totals(ref, row)


def of_transcript(ref: str, meta: dict[str, Any], file: File) -> Heads:
    entry = _indexed(file, ref)
    if entry:
        for found in of_entry("", entry):
            if isinstance(found, Head) and meta:
                found.raw["meta"] = meta
            yield found
        return
    yield Head(
        ref,
        f"hermes:{ref}",
        created_at=meta.get("timestamp"),
        metadata=_beside(meta, ("role", "tools", "timestamp")),
        raw={"meta": meta},
    )


def of_document(ref: str, fields: dict[str, Any], file: File) -> Heads:
    entry = _indexed(file, ref)
    yield Head(
        ref,
        _text(entry.get("session_key")) or f"hermes:{ref}",
        title=_text(entry.get("display_name")),
        metadata=_beside(fields, ("session_id", "system_prompt", "tools", "message_count")),
        source=_source(entry.get("origin")),
        created_at=fields.get("session_start"),
        updated_at=fields.get("last_updated"),
        raw={"document": fields},
    )


def _indexed(file: File, ref: str) -> dict[str, Any]:
    """The session's entry in the index that lies beside the file or below its folder."""
    return next(
        (
            found[ref]
            for place in (file.path.parent / INDEX, file.path.parent / "sessions" / INDEX)
            if ref in (found := _index_at(place, _changed(place)))
        ),
        {},
    )


def _changed(place: Path) -> float:
    try:
        return place.stat().st_mtime
    except OSError:
        return 0.0


@lru_cache(maxsize=4)
def _index_at(place: Path, changed: float) -> dict[str, dict[str, Any]]:
    try:
        found = orjson.loads(place.read_bytes()) if changed else {}
    except (OSError, orjson.JSONDecodeError):
        return {}
    entries = found.items() if isinstance(found, dict) else ()
    return {
        entry["session_id"]: {"session_key": key, **entry}
        for key, entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("session_id"), str)
    }


def _source(origin: Any) -> dict[str, Any] | None:
    if not isinstance(origin, dict) or not isinstance(origin.get("platform"), str):
        return None
    if not origin.get("chat_id") and not origin.get("user_id"):
        return None
    names = {name: str(origin[name]) for name in NAMES if origin.get(name) is not None}
    chat_type = CHAT_TYPES.get(str(origin.get("chat_type") or "dm").lower(), "group")
    return {"platform": origin["platform"].lower(), "chat_type": chat_type, **names}


def _branched_from(config: Any) -> str:
    found = [_text(config.get(name)) for name in BRANCHED] if isinstance(config, dict) else []
    return next(filter(None, found), "")


def _own_source(row: dict[str, Any]) -> dict[str, Any] | None:
    """Without an origin: the columns of the session itself."""
    if not row.get("source") or not row.get("chat_id"):
        return None
    return {**row, "platform": row["source"]}


def _totals(ref: str, given: dict[str, Any]) -> Iterator[Totals]:
    spent = sum(
        _count(given.get(name)) for name in ("input_tokens", "cache_read_tokens", "cache_write_tokens")
    )
    made = _count(given.get("output_tokens"))
    cost = given.get("actual_cost_usd") or given.get("estimated_cost_usd")
    price = float(cost) if isinstance(cost, int | float) and cost >= 0 else 0.0
    if spent or made or price:
        yield Totals(ref, Usage(spent, made, price))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**40 else 0


def _beside(given: dict[str, Any], left_out: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in left_out and value is not None}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
