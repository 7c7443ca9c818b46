"""OpenAI chats: a list of messages, an object that has one, or a conversation a line."""

from collections.abc import Iterator
from typing import Any

from sessions_app.transcripts.fitting import fitted
from sessions_app.transcripts.lines import NotJson, json_fields, json_lines
from sessions_app.transcripts.marks import digest
from sessions_app.transcripts.records import File, Head, Records, Repaired, Said, Skipped

NAME = "openai"


def read(file: File) -> Records:
    with file.open() as stream:
        first = stream.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    if file.name.endswith(".jsonl") or (first[:1] == b"{" and b"}\n" in first):
        yield from _lines(file)
    else:
        yield from _document(file)


def _document(file: File) -> Records:
    key = f"openai:{file.stem}"
    yield Head(key, key)
    number = 0
    try:
        with file.open() as stream:
            for found in json_fields(stream, frozenset({"messages"})):
                if not found.is_item:
                    continue
                number += 1
                yield _said(key, number, found.value, file)
    except NotJson as error:
        yield Skipped(number + 1, f"the list is {error} behind message {number}")


def _lines(file: File) -> Records:
    """Lines of messages are one conversation; lines that have messages are one each."""
    key = f"openai:{file.stem}"
    begun, number = False, 0
    with file.open() as stream:
        for line in json_lines(stream):
            if line.problem:
                yield (
                    Repaired(line.number, line.problem) if line.value else Skipped(line.number, line.problem)
                )
            if isinstance(line.value, dict) and isinstance(line.value.get("messages"), list):
                yield from _conversation(file, line.number, line.value)
            elif isinstance(line.value, dict) and "role" in line.value:
                if not begun:
                    yield Head(key, key)
                begun, number = True, number + 1
                yield _said(key, number, line.value, file, line.number)
            elif line.value is not None:
                yield Skipped(line.number, "not a message")


def _conversation(file: File, line: int, given: dict[str, Any]) -> Iterator[Head | Said | Skipped]:
    key = f"openai:{file.stem}:{line}"
    rest = {name: value for name, value in given.items() if name != "messages"}
    yield Head(key, key, metadata=rest, raw=rest)
    for number, message in enumerate(given["messages"], 1):
        yield _said(key, number, message, file, line)


def _said(ref: str, number: int, raw: Any, file: File, line: int = 0) -> Said | Skipped:
    if not isinstance(raw, dict) or "role" not in raw:
        return Skipped(line or number, "not a message")
    # A list grows at its end: a message is the same one where it stands in the same place.
    return Said(ref, f"{number}.{digest(raw)}", fitted(raw, file.zone, None), line or number)
