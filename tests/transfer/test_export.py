"""What goes out: equal to what came in, in each format that was read; an archive gives the same state."""

import io
import zipfile
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway_app.admin.acting import acting_for
from gateway_app.keys import agent_named
from gateway_app.models import Identity, Person, Platform, ResetPolicy
from sessions_app.access import Caller
from sessions_app.models import ImportedRecord, ImportedSession, Message, Session
from sessions_app.transcripts import exporting
from sessions_app.transcripts.importing import import_path
from tests.conftest import Api

from . import samples
from .conftest import NOW, Import, read_lines, write_lines


def streamed(response: Any) -> bytes:
    assert response.status_code == 200, response
    return b"".join(response.streaming_content)


def exported(api: Api, form: str, query: str = "") -> bytes:
    uid = Session.objects.order_by("-created_at").values_list("uid", flat=True)[0]
    return streamed(api.get(f"/sessions/{uid}/export?format={form}{query}"))


def test_nanobot_comes_back_as_it_was(api: Api, bring_in: Import, tmp_path: Path) -> None:
    bring_in(write_lines(tmp_path / "telegram_42.jsonl", *samples.NANOBOT))
    assert read_lines(exported(api, "nanobot")) == samples.NANOBOT


def test_hermes_transcript_comes_back_as_it_was(api: Api, bring_in: Import, tmp_path: Path) -> None:
    lines = [
        {"role": "session_meta", "tools": [{"name": "x"}], "model": "m", "timestamp": "2026-05-01T10:06:40"},
        {"role": "user", "content": "hello", "timestamp": "2026-05-01T10:06:41", "message_id": "7"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [samples.CALL],
            "reasoning": "why",
            "timestamp": 1.5,
        },
        {"role": "tool", "tool_call_id": "c1", "tool_name": "weather", "content": {"odd": True}},
    ]
    bring_in(write_lines(tmp_path / "20260501_100640_ab.jsonl", *lines))
    assert read_lines(exported(api, "hermes")) == lines


def test_openai_comes_back_as_it_was(api: Api, bring_in: Import, tmp_path: Path) -> None:
    chat = [
        {"role": "developer", "content": "Be brief"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "u"}}],
        },
        {"role": "assistant", "tool_calls": [samples.CALL], "refusal": None},
        {"role": "tool", "tool_call_id": "c1", "content": "24", "metadata": {"a": 1}},
    ]
    (tmp_path / "chat.json").write_bytes(orjson.dumps(chat))
    bring_in(tmp_path / "chat.json")
    assert orjson.loads(exported(api, "openai")) == chat


def test_openai_keeps_the_media_of_a_message_that_has_nothing_else(api: Api) -> None:
    api.append(
        api.open("k"),
        {"role": "user", "content": None, "media": ["/p.png"]},
        {"role": "user", "content": "with words", "media": ["/p.png"]},
    )
    assert orjson.loads(exported(api, "openai")) == [
        {"role": "user", "content": None, "media": ["/p.png"]},
        {"role": "user", "content": "with words"},
    ]


FIELDS = st.dictionaries(
    st.sampled_from(
        ["content", "timestamp", "name", "tool_calls", "tool_call_id", "media", "metadata", "kind", "x"]
    ),
    st.none() | st.booleans() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=2),
)
ANY_MESSAGES = st.lists(
    st.builds(
        lambda role, fields: {"role": role, **fields},
        st.sampled_from(["user", "assistant", "tool", "system", "developer"]),
        FIELDS,
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=ANY_MESSAGES)
@pytest.mark.parametrize("form", ["nanobot", "hermes", "openai"])
def test_whatever_was_read_is_written_as_it_was(
    caller: Caller, tmp_path: Path, form: str, messages: list[dict[str, Any]]
) -> None:
    Session.objects.all().delete()
    ImportedRecord.objects.all().delete()
    written = [orjson.loads(orjson.dumps(message).replace(b"\\u0000", b"")) for message in messages]
    path = write_lines(tmp_path / "a_b.jsonl", *written)
    import_path(caller, form, path, NOW)
    session = Session.objects.get()
    raw = b"".join(exporting.one(caller, session, form, NOW, redact=False))
    found = orjson.loads(raw) if form == "openai" else read_lines(raw)
    assert (found[1:] if form == "nanobot" else found) == written


def test_anthropic_alternates_and_pairs(api: Api, bring_in: Import, tmp_path: Path) -> None:
    bring_in(samples.claude(tmp_path))
    uid = Session.objects.get(forked_from=None).uid
    found = orjson.loads(streamed(api.get(f"/sessions/{uid}/export?format=anthropic")))
    assert [message["role"] for message in found["messages"]] == ["user", "assistant", "user", "assistant"]
    assert [block["type"] for block in found["messages"][1]["content"]] == [
        "thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    assert found["messages"][2]["content"][1] == {
        "type": "tool_result",
        "tool_use_id": "t2",
        "content": "two",
    }


def test_markdown_tells_everything(api: Api) -> None:
    session = api.open("k", title="A #title")
    api.append(
        session,
        {"role": "user", "content": "```\nnot the end", "created_at": "2026-05-01T10:00:00Z"},
        {"kind": "error", "error": "boom", "context": "here"},
        {"kind": "tool_call", "tool": "ls", "args": {"p": 1}, "result": "```a```"},
    )
    text = exported(api, "markdown").decode()
    assert text.startswith("# A #title\n")
    assert "## User · 2026-05-01 10:00:00+00:00\n\n```\nnot the end\n" in text
    assert "## Error" in text
    assert "boom\n\nhere" in text
    assert "````\n```a```\n````" in text


def test_hidden_messages_only_where_they_are_asked_for(api: Api, bring_in: Import, tmp_path: Path) -> None:
    bring_in(samples.claude(tmp_path))
    uid = Session.objects.get(forked_from=None).uid
    path = f"/sessions/{uid}/export?format=openai"
    assert b"no, wait" not in streamed(api.get(path))
    assert b"no, wait" in streamed(api.get(f"{path}&include_hidden=true"))


def test_an_agent_as_a_zip_of_a_period(api: Api, admin: Api, bring_in: Import, tmp_path: Path) -> None:
    bring_in(write_lines(tmp_path / "telegram_42.jsonl", *samples.NANOBOT))
    api.append(api.open("now"), {"role": "user", "content": "today"})
    packed = zipfile.ZipFile(io.BytesIO(streamed(admin.get("/export?format=nanobot&until=2026-06-01"))))
    (name,) = packed.namelist()
    assert read_lines(packed.read(name)) == samples.NANOBOT


GATEWAY: dict[Any, tuple[str, ...]] = {
    Identity: ("platform", "user_id", "person__uid", "person__name"),
    Person: ("uid", "name"),
    Platform: ("platform", "webhook_url", "webhook_secret", "dm_scope"),
    ResetPolicy: ("mode", "idle_minutes", "platform"),
}


def rows(agent: str) -> list[list[dict[str, Any]]]:
    """The record, row by row, with ids that callers see instead of a database's numbers."""
    sessions = Session.objects.filter(agent__name=agent).order_by("uid")
    messages = Message.objects.filter(agent__name=agent).order_by("session__uid", "seq")
    skip = {"id", "agent_id", "session_id"}
    return [
        list(sessions.values(*[f.attname for f in Session._meta.concrete_fields if f.attname not in skip])),
        list(
            messages.values(
                "session__uid", *[f.attname for f in Message._meta.concrete_fields if f.attname not in skip]
            )
        ),
    ]


@pytest.fixture
def archive(api: Api, admin: Api, bring_in: Import, tmp_path: Path) -> Path:
    """Of an agent with everything: imports, forks, resets, hidden and other kinds, a summary."""
    admin.send("PUT", "/platforms/telegram", {"webhook_url": "https://hooks.example/", "dm_scope": "owner"})
    admin.send("PUT", "/reset-policies", {"mode": "idle", "idle_minutes": 7})
    ada = Person.objects.create(agent=agent_named("main"), name="Ada")
    Identity.objects.create(agent=ada.agent, person=ada, platform="telegram", user_id="42")
    admin.send("PATCH", "/agent", {"timezone": "Europe/Berlin", "token_budget": 5})
    bring_in(samples.hermes(tmp_path / "home"))
    bring_in(samples.claude(tmp_path))
    session = api.open("k", title="T", metadata={"a": 1})
    api.append(
        session,
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two", "confidence": 0.2},
    )
    api.append(
        session, {"kind": "decision", "decision": "d"}, {"role": "user", "content": "three", "media": ["/p"]}
    )
    api.post(f"/sessions/{session}/fork", {"key": "k2"})
    api.post(f"/sessions/{session}/rewind", {"to_seq": 4})
    api.post(f"/sessions/{session}/reset")
    Session.objects.filter(uid=session).update(
        summary="sum",
        consolidated_through=2,
        carried="before",
        unconsolidated_tokens=3,
        end_decision='{"policy":null,"reasons":["idle"]}',
    )
    path = tmp_path / "archive.jsonl"
    call_command("export_transcripts", "daybook", str(path), verbosity=0)
    return path


def test_an_archive_gives_an_empty_server_the_same_state(archive: Path, caller: Caller) -> None:
    before = rows("main")
    gateway = [list(model.objects.values(*names)) for model, names in GATEWAY.items()]
    for model in (Session, ImportedSession, Message, *GATEWAY):
        model.objects.all().delete()
    agent = agent_named("main")
    agent.timezone, agent.token_budget = "UTC", 1
    agent.save()
    report = import_path(caller, "auto", archive, NOW).shown()
    assert (report["files"][0]["format"], report["files"][0]["error"], report["skipped"]) == (
        "daybook",
        None,
        0,
    )
    assert rows("main") == before
    assert [list(model.objects.values(*names)) for model, names in GATEWAY.items()] == gateway
    agent.refresh_from_db()
    assert (agent.timezone, agent.token_budget) == ("Europe/Berlin", 5)
    again = import_path(caller, "daybook", archive, NOW).shown()
    assert (again["stored"], again["sessions"]) == (0, 0)
    assert rows("main") == before


def test_an_archive_goes_to_another_agent_without_touching_the_first(archive: Path) -> None:
    before = rows("main")
    other = acting_for(agent_named("other"), NOW)
    report = import_path(other, "daybook", archive, NOW).shown()
    assert report["stored"] == len(before[1])
    assert rows("main") == before
    assert {row["uid"] for row in rows("other")[0]}.isdisjoint(row["uid"] for row in before[0])
    linked = Session.objects.filter(agent__name="other", previous__isnull=False)
    assert {one.previous.agent.name for one in linked if one.previous} == {"other"}


def test_an_archive_from_before_sessions_kept_why_they_ended_is_read(archive: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    lines = [orjson.loads(line) for line in archive.read_bytes().splitlines()]
    for line in lines:
        line.get("session", {}).pop("end_decision", None)
    old.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    assert import_path(acting_for(agent_named("other"), NOW), "daybook", old, NOW).shown()["skipped"] == 0
    brought = rows("other")[0]
    assert len(brought) == len(rows("main")[0])
    assert {row["end_decision"] for row in brought} == {None}


def test_an_archive_that_was_cut_off_says_so(archive: Path, caller: Caller, tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(archive.read_bytes()[:-60])
    assert "cut off" in import_path(caller, "daybook", cut, NOW).shown()["files"][0]["error"]
    cut.write_bytes(b'{"daybook": 2}\n')
    assert "version 2" in import_path(caller, "auto", cut, NOW).shown()["files"][0]["error"]
