"""The files of a path: itself, what lies below a folder, or what is in a zip."""

import os
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path, PurePosixPath
from zoneinfo import ZoneInfo

from sessions_app.transcripts.records import File, Refused, Unreadable

ENDINGS = (".jsonl", ".json", ".db", ".sqlite", ".sqlite3")
# Read first, in this order: they know most of a session.
FIRST = ("state.db", "sessions.json")
IGNORED = ("request_dump_", "session_index")
ZIPS = (b"PK\x03\x04", b"PK\x05\x06")
MEMBERS = 100_000
# What a zip may unpack to, for each byte that it has: more is no transcript.
RATIO = 200
TIME = re.compile(rb'"timestamp"\s*:\s*"([0-9T:.Z+ -]{10,40})"')
LOOKED_AT = 64 * 1024

Found = Iterator[File | Refused]


@contextmanager
def files_of(path: Path, name: str, zone: ZoneInfo, room: Path | None = None) -> Iterator[Found]:
    """`name` is what its owner called it; `room` is where a zip may be unpacked."""
    if path.is_dir():
        yield _below(path, zone)
    elif not path.is_file():
        raise Unreadable("there is no such file")
    elif is_zip(path):
        with tempfile.TemporaryDirectory(dir=room, prefix="unpacked-") as folder:
            refused = _unpack(path, Path(folder))
            yield chain(refused, _below(Path(folder), zone))
    else:
        yield iter([File(path, name, zone, alone=True)])


def is_zip(path: Path) -> bool:
    """By its first bytes too: a database may hold a zip, and is none."""
    with path.open("rb") as stream:
        return stream.read(4) in ZIPS and zipfile.is_zipfile(path)


def _below(folder: Path, zone: ZoneInfo) -> Iterator[File]:
    found = [
        Path(place) / name for place, _, names in os.walk(folder) for name in names if _is_transcript(name)
    ]
    # Links to files are followed, pipes and sockets are not waited for.
    for path in sorted((path for path in found if path.is_file()), key=_order):
        yield File(path, path.relative_to(folder).as_posix(), zone)


def _is_transcript(name: str) -> bool:
    return name.endswith(ENDINGS) and not name.startswith(IGNORED)


def _order(path: Path) -> tuple[int, bytes, bytes, str]:
    """By time where there is one: a session stands before those that went on from a copy of it."""
    place = FIRST.index(path.name) if path.name in FIRST else len(FIRST)
    return (place, *(_times(path) if path.suffix == ".jsonl" else (b"", b"")), path.as_posix())


def _times(path: Path) -> tuple[bytes, bytes]:
    try:
        with path.open("rb") as stream:
            first = TIME.search(stream.read(LOOKED_AT))
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - LOOKED_AT))
            last = TIME.findall(stream.read())
    except OSError:
        return b"", b""
    return first[1] if first else b"", last[-1] if last else b""


def _unpack(path: Path, folder: Path) -> list[Refused]:
    """Only what may be a transcript; what cannot be unpacked does not stop the others."""
    refused: list[Refused] = []
    try:
        with zipfile.ZipFile(path) as archive:
            members = [
                member for member in archive.infolist() if _is_transcript(PurePosixPath(member.filename).name)
            ]
            _check_size(path, folder, members)
            for member in members:
                try:
                    _unpack_one(archive, member, folder)
                except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
                    refused.append(Refused(member.filename, f"it cannot be unpacked: {error}"))
                except OSError as error:
                    refused.append(Refused(member.filename, f"it cannot be unpacked: {error.strerror}"))
    except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
        raise Unreadable(f"the zip cannot be read: {error}") from None
    return refused


def _check_size(path: Path, folder: Path, members: list[zipfile.ZipInfo]) -> None:
    """By what the zip says of itself: no member gives more bytes than that."""
    size = sum(member.file_size for member in members)
    if len(members) > MEMBERS or size > max(path.stat().st_size, 1024 * 1024) * RATIO:
        raise Unreadable("the zip unpacks to more than it can hold")
    if size > shutil.disk_usage(folder).free // 2:
        raise Unreadable("there is no room to unpack the zip")


def _unpack_one(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    """By the parts of its name that lead down: nothing in a zip leads out of the folder."""
    parts = [part for part in PurePosixPath(member.filename).parts if part not in ("/", "..", ".")]
    target = folder.joinpath(*parts)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as source, target.open("xb") as into:
            shutil.copyfileobj(source, into)
    except (zipfile.BadZipFile, zlib.error, EOFError):
        target.unlink(missing_ok=True)
        raise
