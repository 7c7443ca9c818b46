from collections.abc import Iterator

import orjson

from sessions_app.entries import PROVIDER_FIELDS
from sessions_app.transcripts.fitting import RAW
from sessions_app.transcripts.reading import Transcript

ENDING = "json"
CONTENT_TYPE = "application/json"


def write(given: Transcript) -> Iterator[bytes]:
    """A list of messages. What was imported as one has its own fields again."""
    imported = given.session.imported_through or 0
    was_openai = "openai" in given.heads
    separator = b"["
    for message in given.messages():
        metadata = dict(message.get("metadata") or {})
        record = {name: message[name] for name in PROVIDER_FIELDS if name in message}
        if was_openai and message["seq"] <= imported:
            metadata = {
                name: value for name, value in metadata.items() if not (name == "timestamp" and value is None)
            }
            record = metadata[RAW] if RAW in metadata else record | metadata
        yield separator + b"\n" + orjson.dumps(record)
        separator = b","
    yield b"\n]\n" if separator == b"," else b"[]\n"
