"""Which lines of a Claude Code file lie on the way from its last line back to the first.

Read from the end: a parent stands before its child, so that only the one line that is looked for has to be
remembered, however long the file is."""

from array import array
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import orjson

from sessions_app.transcripts.records import File

BLOCK = 1024 * 1024
BOUNDARY = "compact_boundary"


def visible_lines(file: File) -> Callable[[int], bool]:
    """Whether a line, by its number from 1, is visible. Where the way breaks off, nothing is hidden."""
    on_way = array("L")
    wanted: str | None = None
    begun = ended = False
    place = 0
    with file.open() as stream:
        for place, raw in _backwards(stream):
            if ended or (line := _tree_line(raw)) is None or (begun and line["uuid"] != wanted):
                continue
            on_way.append(place)
            wanted = line.get("parentUuid") or line.get("logicalParentUuid")
            # Older versions do not say what a compaction stands behind: it is the line before it.
            begun = wanted is not None or line.get("subtype") != BOUNDARY
            ended = begun and wanted is None
    if not ended and begun:
        return lambda _: True
    shown = bytearray(place + 1)
    for from_end in on_way:
        shown[place - from_end + 1] = 1
    return lambda number: number > place or bool(shown[number])


def _tree_line(raw: bytes) -> dict[str, Any] | None:
    if b'"uuid"' not in raw:
        return None
    try:
        line = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(line, dict) or line.get("isSidechain") or not isinstance(line.get("uuid"), str):
        return None
    return line


def _backwards(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Lines from the last to the first, numbered 1, 2, 3 … from the end."""
    end = stream.seek(0, 2)
    rest = b""
    number = 0
    first = True
    while end > 0:
        start = max(0, end - BLOCK)
        stream.seek(start)
        pieces = (stream.read(end - start) + rest).split(b"\n")
        rest = pieces.pop(0)
        if first and pieces and not pieces[-1]:
            pieces.pop()
        first = False
        for piece in reversed(pieces):
            number += 1
            yield number, piece
        end = start
    if not first:
        yield number + 1, rest
