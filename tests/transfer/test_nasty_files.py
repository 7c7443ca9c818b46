"""Files as they are found in the wild: odd beginnings, odd databases, broken and hostile zips."""

import os
import sqlite3
import zipfile
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from sessions_app.models import Message, Session
from sessions_app.transcripts import files

from .conftest import Import, write_lines

META = {"_type": "metadata", "key": "telegram:77", "created_at": "2026-05-01T10:00:00", "metadata": {}}


def user(text: str, at: int = 1, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, "timestamp": f"2026-05-01T10:00:{at:02}", **fields}


def texts(**chosen: Any) -> list[Any]:
    rows = Message.objects.filter(**chosen).order_by("session_id", "seq").values_list("body", flat=True)
    return [orjson.loads(body).get("content") for body in rows]


@pytest.mark.parametrize(
    "first",
    [
        b"\xef\xbb\xbf" + orjson.dumps(META),
        orjson.dumps(META)[:-1] + b', "x": NaN}',
        orjson.dumps(META)[:-1] + b', "x": "\\ud800 \\u0000"}',
        b"\r\n \r\n" + orjson.dumps(META) + b"\r",
    ],
)
def test_a_metadata_line_in_any_condition_names_the_session(
    bring_in: Import, tmp_path: Path, first: bytes
) -> None:
    bring_in(write_lines(tmp_path / "other_1.jsonl", first + b"\n", user("hello")))
    assert Session.objects.get().key == "telegram:77"
    assert texts() == ["hello"]


def test_nothing_that_cannot_be_stored_comes_with_a_metadata_line(bring_in: Import, tmp_path: Path) -> None:
    raw = b'{"_type": "metadata", "key": "tele\\u0000gram:1", "metadata": {"title": "a\\u0000b"}}\n'
    bring_in(write_lines(tmp_path / "x_1.jsonl", raw, user("hello")))
    session = Session.objects.get()
    assert (session.key, session.title) == ("tele\ufffdgram:1", "a\ufffdb")


def database(place: Path, tables: str, *rows: tuple[str, tuple[Any, ...]]) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(place)) as made:
        made.executescript(tables)
        for statement, values in rows:
            made.execute(statement, values)
        made.commit()
    return place


MESSAGE = "INSERT INTO messages VALUES (?, ?, ?, ?, ?)"


def test_ids_of_any_type_lead_to_their_messages_in_the_order_of_time(
    bring_in: Import, tmp_path: Path
) -> None:
    tables = (
        "CREATE TABLE sessions (id INTEGER PRIMARY KEY, source);"
        "CREATE TABLE messages (id TEXT, session_id, role, content, timestamp REAL);"
    )
    bring_in(
        database(
            tmp_path / "state.db",
            tables,
            ("INSERT INTO sessions VALUES (5, 'cli')", ()),
            (MESSAGE, ("zz", 5, "user", "first", 1777600001.0)),
            (MESSAGE, ("aa", 5, "assistant", b"second \xff", 1777600002.0)),
        )
    )
    assert texts() == ["first", "second \ufffd"]


def test_rows_put_away_by_a_compaction_are_not_taken_for_rewound_ones(
    bring_in: Import, tmp_path: Path
) -> None:
    tables = (
        "CREATE TABLE sessions (id TEXT);"
        "CREATE TABLE messages (session_id, role, content, active, compacted);"
    )
    bring_in(
        database(
            tmp_path / "state.db",
            tables,
            ("INSERT INTO sessions VALUES ('s')", ()),
            (MESSAGE, ("s", "user", "put away", 0, 1)),
            (MESSAGE, ("s", "user", "taken back", 0, 0)),
            (MESSAGE, ("s", "user", "there", 1, 0)),
        )
    )
    assert list(Message.objects.values_list("hidden_by", flat=True)) == ["compact", "rewind", ""]


def test_database_and_transcript_are_one_session_in_its_order(bring_in: Import, tmp_path: Path) -> None:
    tables = (
        "CREATE TABLE sessions (id TEXT);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content, timestamp);"
    )
    rows = [
        (MESSAGE, (number, "s", "user", text, 1777629600.0 + number))
        for number, text in enumerate(["two", "only in the database", "four"], 2)
    ]
    database(tmp_path / "state.db", tables, ("INSERT INTO sessions VALUES ('s')", ()), *rows)
    known = ["one", "two", "between", "four", "five"]
    write_lines(
        tmp_path / "sessions" / "s.jsonl", *(user(text, at, tool_name="t") for at, text in enumerate(known))
    )
    report = bring_in(tmp_path)
    assert texts() == ["one", "two", "only in the database", "between", "four", "five"]
    assert (report["stored"], report["known"]) == (6, 5)
    assert bring_in(tmp_path)["stored"] == 0


def test_the_id_of_a_session_leads_to_no_file_elsewhere(bring_in: Import, tmp_path: Path) -> None:
    write_lines(tmp_path / "secret.jsonl", user("not yours"))
    tables = "CREATE TABLE sessions (id TEXT); CREATE TABLE messages (session_id, role, content);"
    ids = ["../../secret", f"{tmp_path}/secret", "a\x00b", "x" * 5000, ".."]
    inserts = [("INSERT INTO sessions VALUES (?)", (one,)) for one in ids]
    report = bring_in(database(tmp_path / "home" / "state.db", tables, *inserts))
    assert (report["stored"], report["files_failed"]) == (0, 0)


def test_what_was_read_before_a_file_breaks_is_kept(bring_in: Import, tmp_path: Path) -> None:
    tables = "CREATE TABLE sessions (id TEXT); CREATE TABLE messages (session_id, role, content);"
    rows = [
        ("INSERT INTO messages VALUES ('s', 'user', ?)", (f"{number} {'x' * 400}",)) for number in range(100)
    ]
    place = database(tmp_path / "state.db", tables, ("INSERT INTO sessions VALUES ('s')", ()), *rows)
    raw = bytearray(place.read_bytes())
    raw[-3 * 4096 :] = os.urandom(3 * 4096)
    place.write_bytes(raw)
    report = bring_in(place)
    assert report["files_failed"] == 1
    assert 0 < report["stored"] < 100


def packed(place: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return place


def test_a_broken_member_of_a_zip_stops_no_other(bring_in: Import, tmp_path: Path) -> None:
    line = orjson.dumps(user("good"))
    members = {"a_1.jsonl": orjson.dumps(user("bad" * 500)), "x" * 300 + ".jsonl": line, "b_1.jsonl": line}
    place = packed(tmp_path / "all.zip", **members)
    raw = place.read_bytes()
    deflated = zlib.compress(members["a_1.jsonl"])[2:12]
    start = raw.index(b"a_1.jsonl") + len("a_1.jsonl")
    assert raw[start : start + 4] == deflated[:4]
    place.write_bytes(raw[:start] + b"\xff" * 10 + raw[start + 10 :])
    report = bring_in(place)
    assert (report["files_failed"], report["stored"]) == (2, 1)
    assert texts() == ["good"]
    told = {one["file"]: one["error"] for one in report["files"] if one["error"]}
    assert all(error.startswith("it cannot be unpacked") for error in told.values())


def test_nothing_in_a_zip_leads_out_of_it(bring_in: Import, tmp_path: Path) -> None:
    line = orjson.dumps(user("in"))
    room = tmp_path / "room"
    room.mkdir()
    place = packed(tmp_path / "slip.zip", **{"../../out_1.jsonl": line, f"{tmp_path}/abs_1.jsonl": line})
    link = zipfile.ZipInfo("link_1.jsonl")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(place, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    report = bring_in(place, room=room)
    assert report["stored"] == 2
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["room", "slip.zip"]


def test_a_zip_that_unpacks_to_too_much_is_refused_before_it_does(
    bring_in: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_unpack_one", lambda *_: pytest.fail("unpacked"))
    report = bring_in(packed(tmp_path / "bomb.zip", **{"a.jsonl": b"0" * (250 * 1024 * 1024)}))
    assert report["files"][0]["error"] == "the zip unpacks to more than it can hold"


def test_a_database_that_holds_a_zip_is_a_database(bring_in: Import, tmp_path: Path) -> None:
    held = packed(tmp_path / "held.zip", a=b"x").read_bytes()
    tables = "CREATE TABLE sessions (id TEXT); CREATE TABLE messages (session_id, role, content, blob);"
    place = database(
        tmp_path / "home" / "state.db",
        tables,
        ("INSERT INTO sessions VALUES ('s')", ()),
        ("INSERT INTO messages VALUES ('s', 'user', 'hello', ?)", (held,)),
    )
    assert zipfile.is_zipfile(place)
    bring_in(place)
    assert texts() == ["hello"]


def test_a_folder_may_hold_other_things_too(bring_in: Import, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{\n "theme": "dark"\n}')
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "noise.jsonl").write_bytes(os.urandom(500))
    os.mkfifo(tmp_path / "pipe.jsonl")
    write_lines(tmp_path / "x_1.jsonl", user("hello"))
    report = bring_in(tmp_path)
    told = {one["file"]: (one["error"], [why["reason"] for why in one["reasons"]]) for one in report["files"]}
    assert told == {
        "settings.json": (None, ["no format that is known here"]),
        "empty.jsonl": (None, ["there is nothing in it"]),
        "noise.jsonl": ("it is neither JSON nor a database", []),
        "x_1.jsonl": (None, []),
    }
    assert bring_in(tmp_path / "settings.json")["files_failed"] == 1


def test_a_document_is_known_whatever_its_name_ends_in(bring_in: Import, tmp_path: Path) -> None:
    pretty = orjson.dumps([{"role": "user", "content": "hello"}], option=orjson.OPT_INDENT_2)
    (tmp_path / "chat").write_bytes(pretty)
    assert bring_in(tmp_path / "chat")["files"][0]["format"] == "openai"
    place = write_lines(tmp_path / "lines.json", META, user("by lines"))
    assert bring_in(place)["files"][0]["format"] == "nanobot"
    assert texts() == ["hello", "by lines"]
