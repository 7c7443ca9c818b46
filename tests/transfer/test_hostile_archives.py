"""An archive that somebody changed: what cannot be so is told, and nothing that is stored breaks a page."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.models import Agent, Consolidation, Session
from sessions_app.transcripts import archive
from tests.conftest import Api
from tests.faults.record import assert_consistent

from .conftest import Import, write_lines
from .test_export import streamed

MANY = 20
ODD = st.sampled_from(
    [
        None,
        True,
        -1,
        2**62,
        1.5,
        "",
        "x",
        "x" * 3000,
        "\x00",
        [],
        [1],
        {},
        {"role": 5},
        "2026-99-99",
        "9" * 20,
    ]
)


@pytest.fixture
def lines(api: Api) -> list[dict[str, Any]]:
    """An archive with every kind of entry, and what capabilities keep."""
    session = api.open("k", title="T", metadata={"a": 1})
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    api.append(
        session,
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "x", "metadata": {"y": 1}},
        {"kind": "tool_call", "tool": "t", "args": {"a": 1}, "result": "r"},
        {"kind": "error", "error": "e"},
        {"kind": "decision", "decision": "d", "rationale": "why"},
        {"role": "user", "content": "and now?"},
    )
    api.post(f"/sessions/{session}/usage", {"input_tokens": 2, "output_tokens": 1, "model": "m"})
    api.post("/skills/invocations", {"skill_name": "lint", "session_id": session, "user_query": "q"})
    api.post(f"/sessions/{session}/consolidate?wait=true")
    raw = streamed(api.get(f"/sessions/{session}/export?format=daybook&redact=false"))
    return [orjson.loads(line) for line in raw.splitlines()]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for name, item in value.items():
            found += places(item, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += places(item, (*path, index))
    return found


def changed(lines: list[Any], path: tuple[Any, ...], odd: Any) -> list[Any]:
    made: list[Any] = orjson.loads(orjson.dumps(lines))
    at: Any = made
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = odd
    return made


def assert_readable(api: Api) -> None:
    for session in Session.objects.all():
        assert_consistent(str(session.uid))
        for page in ("", "/messages", "/history", "/context"):
            answer = api.get(f"/sessions/{session.uid}{page}")
            assert answer.status_code == 200, (page, answer.content)
        for form in ("markdown", "anthropic", "daybook"):
            streamed(api.get(f"/sessions/{session.uid}/export?format={form}"))


@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_stands_in_an_archive_nothing_breaks(
    api: Api, lines: list[Any], bring_in: Import, tmp_path: Path, data: st.DataObject
) -> None:
    Session.objects.all().delete()
    # The time of the last activity may be later than that of any message: no matter of consistency.
    path = data.draw(st.sampled_from([path for path in places(lines) if path[-1] != "active_at"]))
    place = write_lines(tmp_path / "a.jsonl", *changed(lines, path, data.draw(ODD)))
    for _ in range(2):
        bring_in(place, "daybook")
    assert_readable(api)


@pytest.mark.parametrize(
    "settings_given",
    [
        {"timezone": "Moon/Crater"},
        {"redaction": "[]"},
        {"redaction": '{"patterns": [{"name": "x", "pattern": "("}]}'},
        {"redaction": '{"export": "maybe"}'},
        {"token_budget": -5},
    ],
)
def test_settings_that_cannot_be_are_told_and_the_rest_comes(
    api: Api, lines: list[Any], bring_in: Import, tmp_path: Path, settings_given: dict[str, Any]
) -> None:
    Session.objects.all().delete()
    before = Agent.objects.values().get(name="main")
    lines[0]["agent"] |= settings_given
    report = bring_in(write_lines(tmp_path / "a.jsonl", *lines), "daybook")
    assert (report["stored"], report["skipped"]) == (7, 1)
    assert report["files"][0]["reasons"][0]["reason"].startswith("settings not as an archive has it")
    assert Agent.objects.values().get(name="main") == before
    assert_readable(api)


def test_what_one_capability_cannot_read_stops_nothing_else(
    lines: list[Any], bring_in: Import, tmp_path: Path
) -> None:
    Session.objects.all().delete()
    kept = [line for line in lines if line.keys() & archive.parts.keys()]
    assert kept
    broken = [{name: {"odd": [1]} for name in kept[0]}]
    report = bring_in(write_lines(tmp_path / "a.jsonl", *lines[:-1], *broken, lines[-1]), "daybook")
    assert (report["stored"], report["skipped"]) == (7, 1)
    assert Consolidation.objects.count() == 1
