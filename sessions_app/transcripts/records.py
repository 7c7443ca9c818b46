"""What every reader makes of its format: one stream of these, in the order of the file."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Usage:
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0


@dataclass(slots=True)
class Head:
    """A session begins. `ref` is its name within the format; `source` is as the API takes it."""

    ref: str
    key: str
    title: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    source: dict[str, Any] | None = None
    created_at: str | None = None
    updated_at: str | None = None
    summary: str = ""
    # How many of its first messages a summary stands for.
    condensed: int = 0
    previous_ref: str = ""
    fork_ref: str = ""
    # Whatever the format says of the session, as it was read.
    raw: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Said:
    """One message, as the API takes it. `id` tells it from every other record of its session."""

    ref: str
    id: str
    message: dict[str, Any]
    line: int = 0
    hidden_by: str = ""
    usage: Usage | None = None
    # Where the id is unique by itself: a record that was copied to another session is the same one.
    anywhere: bool = False
    # Of a message that the format writes in pieces: how many there are, whether more may come, and, where
    # it was stored when it had fewer, the rest of it as a message.
    pieces: int = 1
    unfinished: bool = False
    rest: Callable[[int], "Said"] | None = None

    def as_far_as(self, pieces: int) -> str:
        """The id of its having been stored unfinished."""
        return f"{self.id.partition('+')[0]}+{pieces}"


@dataclass(slots=True)
class Totals:
    """What the session has used in all, as the format counts it."""

    ref: str
    usage: Usage


@dataclass(slots=True)
class Condensed:
    """From here on a summary stands for everything before."""

    ref: str
    id: str
    summary: str


@dataclass(slots=True)
class Retitled:
    ref: str
    title: str


@dataclass(slots=True)
class Invoked:
    """One use of a skill, by the field names of the API."""

    invocation: dict[str, Any]


@dataclass(slots=True)
class Skipped:
    line: int
    reason: str


@dataclass(slots=True)
class Repaired:
    """Something that cannot be stored was replaced; the record itself is there."""

    line: int
    reason: str


Record = Head | Said | Totals | Condensed | Retitled | Invoked | Skipped | Repaired
Records = Iterator[Record]


class Unreadable(Exception):
    """The file as a whole is not what it should be."""


class Unknown(Unreadable):
    """The file is of no format that is known here."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that could not even be opened, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class File:
    """What is read: always a real file, so that any reader may go over it twice or open it as a database."""

    path: Path
    # As its owner called it; an upload lies under another name.
    name: str
    zone: ZoneInfo
    # Named by itself, not found in a folder or a zip.
    alone: bool = False
    streams: list[BinaryIO] = field(default_factory=list)

    @property
    def position(self) -> int:
        """How far whoever reads it has come."""
        return max((stream.tell() for stream in self.streams if not stream.closed), default=0)

    @property
    def stem(self) -> str:
        return Path(self.name).stem

    def open(self) -> BinaryIO:
        self.streams[:] = [stream for stream in self.streams if not stream.closed]
        self.streams.append(self.path.open("rb"))
        return self.streams[-1]
