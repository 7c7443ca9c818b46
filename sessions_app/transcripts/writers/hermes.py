from collections.abc import Iterator

import orjson

from sessions_app.transcripts.fitting import record_of
from sessions_app.transcripts.reading import Transcript

ENDING = "jsonl"
CONTENT_TYPE = "application/x-ndjson"


def write(given: Transcript) -> Iterator[bytes]:
    """A transcript: the line about the session, where it came with one, and a line a message."""
    meta = (given.heads.get("hermes") or {}).get("meta")
    if meta:
        yield orjson.dumps(given.shown(meta)) + b"\n"
    for message in given.messages():
        yield orjson.dumps(record_of(message, message["created_at"], given.zone)) + b"\n"
