"""The files of a path: itself, what lies below a folder, or what is in a zip."""

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from zoneinfo import ZoneInfo

from sessions_app.transcripts.records import File, Unreadable

ENDINGS = (".jsonl", ".json", ".db", ".sqlite", ".sqlite3")
# Read first, in this order: they know most of a session.
FIRST = ("state.db", "sessions.json")
IGNORED = ("request_dump_", "session_index")
MEMBERS = 100_000
# What a zip may unpack to, for each byte that it has: more is no transcript.
RATIO = 200


@contextmanager
def files_of(path: Path, name: str, zone: ZoneInfo, room: Path | None = None) -> Iterator[Iterator[File]]:
    """`name` is what its owner called it; `room` is where a zip may be unpacked."""
    if path.is_dir():
        yield _below(path, zone)
    elif zipfile.is_zipfile(path):
        with tempfile.TemporaryDirectory(dir=room, prefix="unpacked-") as folder:
            _unpack(path, Path(folder))
            yield _below(Path(folder), zone)
    elif path.is_file():
        yield iter([File(path, name, zone)])
    else:
        raise Unreadable("there is no such file")


def _below(folder: Path, zone: ZoneInfo) -> Iterator[File]:
    found = [
        Path(place) / name
        for place, _, names in os.walk(folder)
        for name in names
        if name.endswith(ENDINGS) and not name.startswith(IGNORED)
    ]
    for path in sorted(found, key=_order):
        yield File(path, path.relative_to(folder).as_posix(), zone)


def _order(path: Path) -> tuple[int, str]:
    return FIRST.index(path.name) if path.name in FIRST else len(FIRST), path.as_posix()


def _unpack(path: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            size = sum(member.file_size for member in members)
            if len(members) > MEMBERS or size > max(path.stat().st_size, 1024 * 1024) * RATIO:
                raise Unreadable("the zip unpacks to more than it can hold")
            for member in members:
                _unpack_one(archive, member, folder)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise Unreadable(f"the zip cannot be read: {error}") from None


def _unpack_one(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    """By the parts of its name that lead down: nothing in a zip leads out of the folder."""
    parts = [part for part in PurePosixPath(member.filename).parts if part not in ("/", "..", ".")]
    target = folder.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, target.open("wb") as into:
        shutil.copyfileobj(source, into)
