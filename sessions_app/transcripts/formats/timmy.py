"""Timmy: a file for a day, and in it messages, tool calls, errors and decisions."""

import re
from typing import Any

from sessions_app.entries import ROLES
from sessions_app.transcripts.fitting import TIME
from sessions_app.transcripts.lines import json_lines
from sessions_app.transcripts.marks import Repeats
from sessions_app.transcripts.records import File, Head, Records, Repaired, Said, Skipped
from sessions_app.transcripts.times import moment

NAME = "timmy"
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
FIELDS = {
    "message": ("role", "content", "confidence"),
    "tool_call": ("tool", "args", "result"),
    "error": ("error", "context"),
    "decision": ("decision", "rationale"),
}


def read(file: File) -> Records:
    repeats = Repeats(file.path.stat().st_size)
    head: Head | None = None
    before = None
    with file.open() as stream:
        for line in json_lines(stream):
            if line.problem:
                yield (
                    Repaired(line.number, line.problem) if line.value else Skipped(line.number, line.problem)
                )
            if line.value is None:
                continue
            message = message_of(line.value)
            if message is None:
                yield Skipped(line.number, "neither a message, a tool call, an error nor a decision")
                continue
            found = moment(line.value.get(TIME), file.zone)
            before = found or before
            if before is not None:
                message["created_at"] = before.isoformat()
            if head is None:
                head = Head(ref := f"timmy:{_day(file, line.value)}", ref, created_at=line.value.get(TIME))
                yield head
            yield Said(head.ref, repeats.id_of(line.value), message, line.number)


def message_of(record: Any) -> dict[str, Any] | None:
    if not isinstance(record, dict) or record.get("type") not in FIELDS:
        return None
    kind: str = record["type"]
    message: dict[str, Any] = {"kind": kind, **{name: record.get(name) for name in FIELDS[kind]}}
    metadata = {name: value for name, value in record.items() if name not in (*FIELDS[kind], "type", TIME)}
    if kind == "message":
        _fit_message(message, metadata)
    else:
        _fit_texts(message, kind)
    return message | {"metadata": metadata}


def _fit_message(message: dict[str, Any], metadata: dict[str, Any]) -> None:
    if message["role"] not in ROLES or message["role"] == "tool":
        if message["role"] != "timmy":
            metadata["role"] = message["role"]
        message["role"] = "assistant"
    if not isinstance(message["content"], str):
        message["content"] = "" if message["content"] is None else str(message["content"])
    confidence = message["confidence"]
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        if confidence is not None:
            metadata["confidence"] = confidence
        del message["confidence"]
    else:
        message["confidence"] = float(confidence)


def _fit_texts(message: dict[str, Any], kind: str) -> None:
    for name in FIELDS[kind]:
        value = message[name]
        if name in ("args", "result") or value is None or isinstance(value, str):
            continue
        message[name] = str(value)
    required = FIELDS[kind][0]
    message[required] = message[required] or "unknown"


def _day(file: File, record: dict[str, Any]) -> str:
    """Of the file's name, else of its first record."""
    found = DAY.search(file.name) or DAY.search(str(record.get(TIME)))
    return found[0] if found else file.stem
