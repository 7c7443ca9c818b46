"""nanobot: one file for a session key; a metadata line, wherever it stands, and one message a line."""

import base64
import binascii
from typing import Any

from sessions_app.transcripts.fitting import fitted
from sessions_app.transcripts.lines import BOM, LONGEST_LINE, json_lines, parsed
from sessions_app.transcripts.marks import Repeats
from sessions_app.transcripts.records import File, Head, Record, Records, Repaired, Said, Skipped
from sessions_app.transcripts.times import moment

NAME = "nanobot"
TYPE = "_type"


def read(file: File) -> Records:
    given = _metadata_line(file)
    head = head_of(given, file)
    yield head
    before = moment(given.get("created_at"), file.zone)
    repeats = Repeats(file.path.stat().st_size)
    with file.open() as stream:
        for line in json_lines(stream):
            record = line.value
            if line.problem:
                yield Repaired(line.number, line.problem) if record else Skipped(line.number, line.problem)
            if not isinstance(record, dict):
                if record is not None:
                    yield Skipped(line.number, "not an object")
                continue
            if TYPE in record or "role" not in record:
                yield from _other(line.number, record)
                continue
            message = fitted(record, file.zone, before)
            before = moment(message.get("created_at"), file.zone) or before
            yield Said(head.ref, repeats.id_of(record), message, line.number)


def head_of(given: dict[str, Any], file: File) -> Head:
    key = given["key"] if isinstance(given.get("key"), str) and given["key"] else key_of_stem(file.stem)
    kept = given.get("metadata")
    metadata: dict[str, Any] = kept if isinstance(kept, dict) else {}
    last = metadata.get("_last_summary")
    summary = last.get("text") if isinstance(last, dict) else None
    condensed = given.get("last_consolidated")
    title = metadata.get("title")
    return Head(
        ref=key,
        key=key,
        title=title if isinstance(title, str) else "",
        metadata=metadata,
        created_at=given.get("created_at"),
        updated_at=given.get("updated_at"),
        summary=summary if isinstance(summary, str) else "",
        condensed=condensed if isinstance(condensed, int) and condensed > 0 else 0,
        raw=given,
    )


def key_of_stem(stem: str) -> str:
    """New names are the key in base64, old ones have an underscore for its colon."""
    try:
        raw = base64.b64decode(stem + "=" * (-len(stem) % 4), altchars=b"-_", validate=True)
        key = raw.decode()
    except (binascii.Error, UnicodeDecodeError):
        key = ""
    if ":" in key and key.isprintable():
        return key
    return stem.replace("_", ":", 1)


def _metadata_line(file: File) -> dict[str, Any]:
    """Mostly the first; only where it is not is the file gone over once more."""
    with file.open() as stream:
        for raw in iter(lambda: stream.readline(LONGEST_LINE), b""):
            if b'"_type"' in raw and b"metadata" in raw:
                found, _ = parsed(raw.removeprefix(BOM))
                if isinstance(found, dict) and found.get(TYPE) == "metadata":
                    return found
    return {}


def _other(line: int, record: dict[str, Any]) -> list[Record]:
    if record.get(TYPE) == "metadata":
        return []
    if record.get(TYPE) == "provider_state":
        return [Skipped(line, "a provider's private state")]
    return [Skipped(line, "not a message")]
