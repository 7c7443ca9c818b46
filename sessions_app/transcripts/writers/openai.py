from collections.abc import Iterator
from typing import Any

import orjson

from sessions_app.entries import PROVIDER_FIELDS
from sessions_app.transcripts.fitting import record_of
from sessions_app.transcripts.reading import Transcript

ENDING = "json"
CONTENT_TYPE = "application/json"


def write(given: Transcript) -> Iterator[bytes]:
    """A list of messages. What was imported as one has its own fields again."""
    imported = given.session.imported_through or 0
    was_openai = "openai" in given.heads
    separator = b"["
    for message in given.messages():
        if was_openai and message["seq"] <= imported:
            record = record_of(message, message["created_at"], given.zone)
        else:
            record = _record(message)
        yield separator + b"\n" + orjson.dumps(record)
        separator = b","
    yield b"\n]\n" if separator == b"," else b"[]\n"


def _record(message: dict[str, Any]) -> dict[str, Any]:
    record = {name: message[name] for name in PROVIDER_FIELDS if name in message}
    if not record.get("content") and message.get("media"):
        # All that the message says: without it nothing would be left.
        record["media"] = message["media"]
    return record
