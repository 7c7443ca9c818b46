from collections.abc import Iterator

import orjson

from sessions_app.transcripts.fitting import record_of
from sessions_app.transcripts.reading import Transcript
from sessions_app.transcripts.times import naive

ENDING = "jsonl"
CONTENT_TYPE = "application/x-ndjson"


def write(given: Transcript) -> Iterator[bytes]:
    session, zone = given.session, given.zone
    head = given.heads.get("nanobot") or {}
    metadata = head.get("metadata")
    own = session.metadata | ({"title": session.title} if session.title else {})
    if session.summary and not (isinstance(metadata, dict) and "_last_summary" in metadata):
        own["_last_summary"] = {"text": session.summary, "last_active": naive(session.updated_at, zone)}
    line = {
        "_type": "metadata",
        "key": session.key,
        "created_at": naive(session.created_at, zone),
        "updated_at": naive(session.updated_at, zone),
        "metadata": own,
        "last_consolidated": session.consolidated_through,
    }
    if head:
        # As it was read, but for what has changed since.
        grown = session.last_seq != session.imported_through
        line = head | ({"updated_at": line["updated_at"]} if grown else {})
    yield orjson.dumps(given.shown(line)) + b"\n"
    for message in given.messages():
        yield orjson.dumps(record_of(message, message["created_at"], zone)) + b"\n"
