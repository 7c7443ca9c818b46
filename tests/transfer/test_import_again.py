"""Importing twice adds nothing; an import that was killed and run again ends the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.apps import apps
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.access import Caller
from sessions_app.models import ImportedRecord, Message, Session
from sessions_app.transcripts import importing
from tests.conftest import Api, said
from tests.faults.record import assert_consistent

from . import samples
from .conftest import NOW, Import, write_lines


def nanobot(folder: Path) -> Path:
    return write_lines(folder / "telegram_42.jsonl", *samples.NANOBOT)


def everything() -> dict[str, Any]:
    """All rows of the record, without the numbers that a database gives out."""
    found: dict[str, Any] = {}
    for model in apps.get_app_config("sessions_app").get_models():
        names = [field.attname for field in model._meta.concrete_fields]
        skip = {"id", "uid", "session_id", "previous_id", "forked_from_id", "reset_check_at"}
        rows = model._default_manager.order_by("pk").values(*[name for name in names if name not in skip])
        # Sessions may come in turns: only within each is there an order, and that has its seq.
        found[model.__name__] = sorted(rows, key=str)
    return found


MAKERS = [nanobot, samples.claude, samples.codex, lambda folder: samples.hermes(folder / "home")]


@pytest.mark.parametrize("make", MAKERS)
def test_twice_adds_nothing(bring_in: Import, tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path)
    first = bring_in(path)
    before = everything()
    second = bring_in(path)
    assert (second["stored"], second["sessions"]) == (0, 0)
    assert second["known"] == first["stored"] + first["known"]
    assert everything() == before


@pytest.mark.parametrize("make", MAKERS)
def test_a_dry_run_writes_nothing_and_says_the_same(
    bring_in: Import, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    path = make(tmp_path)
    before = everything()
    dry = bring_in(path, dry_run=True)
    assert everything() == before
    real = bring_in(path)
    assert (dry["dry_run"], dry["read"], dry["skipped"]) == (True, real["read"], real["skipped"])
    if make is not MAKERS[3]:
        # In several files of one home the same message is new once; a dry run sees each file alone.
        assert (dry["stored"], dry["sessions"]) == (real["stored"], real["sessions"])


class Killed(Exception):
    pass


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("batch", [1, 2])
def test_killed_and_run_again_ends_the_same(
    bring_in: Import,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], Path],
    batch: int,
) -> None:
    path = make(tmp_path)
    bring_in(path)
    whole = everything()
    Session.objects.all().delete()
    ImportedRecord.objects.all().delete()
    monkeypatch.setattr(importing, "BATCH", batch)
    for alive in (1, 2, 3):
        left = [alive]

        def die(*_: Any, left: list[int] = left) -> None:
            left[0] -= 1
            if not left[0]:
                raise Killed

        with pytest.raises(Killed):
            bring_in(path, progress=die)
    bring_in(path)
    assert everything() == whole
    for session in Session.objects.all():
        assert_consistent(str(session.uid))


def test_a_file_that_has_grown_adds_what_is_new(bring_in: Import, tmp_path: Path) -> None:
    path = nanobot(tmp_path)
    bring_in(path)
    with path.open("ab") as stream:
        stream.write(b'{"role": "user", "content": "more", "timestamp": "2026-05-02T10:00:00"}\n')
    assert bring_in(path)["stored"] == 1
    session = Session.objects.get()
    assert (session.last_seq, session.ended_at) == (5, None)


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 1, 2), (2, 3, 1)])
def test_the_newest_of_a_key_is_open_in_whatever_order_they_come(
    bring_in: Import, tmp_path: Path, order: tuple[int, ...]
) -> None:
    for day in order:
        line = {"id": f"s{day}", "session_key": "telegram:42", "started_at": f"2026-05-0{day}T10:00:00"}
        message = {"role": "user", "content": f"day {day}", "timestamp": f"2026-05-0{day}T10:00:00"}
        bring_in(write_lines(tmp_path / f"e{day}.jsonl", {**line, "messages": [message]}), "hermes")
    first, second, third = Session.objects.order_by("created_at")
    assert [one.end_reason for one in (first, second, third)] == ["imported", "imported", ""]
    assert (second.previous_id, third.previous_id) == (first.uid, second.uid)


def test_a_session_in_use_stays_the_open_one(api: Api, bring_in: Import, tmp_path: Path) -> None:
    live = api.open("telegram:42")
    api.append(live, {"role": "user", "content": "here"})
    bring_in(nanobot(tmp_path))
    assert Session.objects.get(key="telegram:42", ended_at__isnull=True).uid.hex == live.replace("-", "")
    assert Session.objects.exclude(uid=live).get().end_reason == "imported"


def test_what_is_imported_is_read_like_anything_else(api: Api, bring_in: Import, tmp_path: Path) -> None:
    bring_in(nanobot(tmp_path))
    session = str(Session.objects.get().uid)
    window = api.window(session)
    assert [message["role"] for message in window["messages"]] == ["user", "assistant", "tool", "assistant"]
    shown = said(api.get(f"/sessions/{session}"))
    assert shown["last_activity_at"] == "2026-05-01T10:00:01.123456+00:00"
    assert shown["next_reset_at"] is None
    api.append(session, {"role": "user", "content": "I am back"})
    assert said(api.get(f"/sessions/{session}"))["counts"]["entries"] == 5


TEXTS = st.text(max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=2),
)
RECORDS = st.lists(
    st.dictionaries(
        st.sampled_from(["content", "timestamp", "name", "tool_calls", "media", "x"]) | TEXTS, VALUES
    )
    | st.builds(
        lambda role, content, at: {
            "role": role,
            "content": content,
            "timestamp": f"2026-05-01T10:00:{at:02}",
        },
        st.sampled_from(["user", "assistant", "tool", "system", "timmy", ""]),
        VALUES,
        st.integers(0, 3),
    ),
    max_size=6,
)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(records=RECORDS, junk=st.lists(st.binary(max_size=20), max_size=2))
def test_whatever_a_file_holds_each_message_goes_in_once(
    caller: Caller, tmp_path: Path, records: list[Any], junk: list[bytes]
) -> None:
    """Counted by another rule: an object with a role and without `_type` is a message."""
    Session.objects.all().delete()
    ImportedRecord.objects.all().delete()
    path = write_lines(
        tmp_path / "x_1.jsonl", *records, *(piece.replace(b"\n", b"") + b"\n" for piece in junk)
    )
    messages = sum("role" in record and "_type" not in record for record in records)
    extra = 0
    for piece in junk:
        try:
            found = orjson.loads(piece.replace(b"\n", b""))
        except ValueError:
            continue
        extra += isinstance(found, dict) and "role" in found
    first = importing.import_path(caller, "nanobot", path, NOW).shown()
    assert first["stored"] == messages + extra
    assert importing.import_path(caller, "nanobot", path, NOW).shown()["stored"] == 0
    assert Message.objects.count() == messages + extra
    assert_consistent(str(Session.objects.get().uid))
