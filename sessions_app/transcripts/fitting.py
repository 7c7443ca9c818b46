"""A message in the form of OpenAI, as half of the formats keep it, into what the API takes, and back.

Unknown fields go to `metadata` under their own names. Where the way back would not give just what was read,
the record is kept whole beside it, under `_raw`."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from sessions_app.entries import PROVIDER_FIELDS, ROLES
from sessions_app.transcripts.times import moment, naive

RAW = "_raw"
# Fields that some programs call otherwise, and, beside a message, how its own called them.
CALLED, CALLED_OTHERWISE = "_called", {"name": "tool_name", "reasoning_content": "reasoning"}
TIME = "timestamp"
NO_CALL = "unknown"
LONGEST_NAME = 512
KEPT = (*PROVIDER_FIELDS, "media", "confidence", "proactive")


def fitted(raw: dict[str, Any], zone: ZoneInfo, before: datetime | None) -> dict[str, Any]:
    """`before` is the time of the message before, for one that has none."""
    found = moment(raw.get(TIME), zone)
    renamed = _renamed(raw)
    message = _fields({**raw, **{name: raw[other] for name, other in renamed.items()}})
    taken = {*message, *renamed.values(), TIME}
    metadata = {name: value for name, value in raw.items() if name not in taken}
    if renamed:
        metadata[CALLED] = renamed
    if found is None or naive(found, zone) != raw.get(TIME):
        metadata[TIME] = raw.get(TIME)
    if when := found or before:
        message["created_at"] = when.isoformat()
    message["metadata"] = metadata
    if record_of(message, found, zone) != raw:
        message["metadata"] = {RAW: raw}
    return message


def record_of(message: Mapping[str, Any], created_at: datetime | None, zone: ZoneInfo) -> dict[str, Any]:
    """The way back: of a message as it is stored."""
    metadata = dict(message.get("metadata") or {})
    if RAW in metadata:
        kept: dict[str, Any] = metadata[RAW]
        return kept
    record = {name: message[name] for name in KEPT if name in message}
    for name, other in metadata.pop(CALLED, {}).items():
        record[other] = record.pop(name)
    if TIME not in metadata:
        record[TIME] = naive(created_at, zone) if created_at else None
    elif metadata[TIME] is None:
        del metadata[TIME]
    return record | metadata


def _renamed(raw: dict[str, Any]) -> dict[str, str]:
    return {
        name: other
        for name, other in CALLED_OTHERWISE.items()
        if name not in raw and isinstance(raw.get(other), str) and 1 <= len(raw[other]) <= _longest(name)
    }


def _longest(name: str) -> float:
    return LONGEST_NAME if name == "name" else float("inf")


def _fields(raw: dict[str, Any]) -> dict[str, Any]:
    """What fits of the fields that the API knows. A message always has its content, be it none."""
    role = raw.get("role")
    message: dict[str, Any] = {"role": role if role in ROLES else "assistant", "content": _content(raw)}
    if message["role"] == "assistant" and _are_calls(raw.get("tool_calls")):
        message["tool_calls"] = raw["tool_calls"]
    if message["role"] == "tool":
        call = raw.get("tool_call_id")
        message["tool_call_id"] = call if _is_name(call) else NO_CALL
    for name in ("name", "reasoning_content"):
        if isinstance(raw.get(name), str) and len(raw[name]) <= _longest(name):
            message[name] = raw[name]
    if _are_media(raw.get("media")):
        message["media"] = raw["media"]
    if message["content"] is None and not message.get("tool_calls") and not message.get("media"):
        message["content"] = ""
    return message


def _content(raw: dict[str, Any]) -> Any:
    content = raw.get("content")
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list) and all(_is_block(block) for block in content):
        return content
    return orjson.dumps(content).decode()


def _is_block(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get("type"), str) and 1 <= len(block["type"]) <= 64


def _are_calls(calls: Any) -> bool:
    return isinstance(calls, list) and bool(calls) and all(map(_is_call, calls))


def _is_call(call: Any) -> bool:
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
        return False
    function = call["function"]
    arguments = function.get("arguments")
    return (
        _is_name(call.get("id"))
        and _is_name(function.get("name"))
        and isinstance(call.get("type", ""), str)
        and (arguments is None or isinstance(arguments, str | dict))
    )


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= LONGEST_NAME


def _are_media(media: Any) -> bool:
    return (
        isinstance(media, list)
        and 1 <= len(media) <= 100
        and all(isinstance(path, str) and 1 <= len(path) <= 8192 for path in media)
    )
