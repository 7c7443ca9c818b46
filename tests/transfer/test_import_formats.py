"""What each format becomes: worked out by hand from small files of each."""

import io
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import call_command

from sessions_app.models import Message, Session
from tests.conftest import Api
from tests.conftest import said as json_of
from tests.faults.record import assert_consistent

from . import samples
from .conftest import Import, write_lines


def said(session: Session, *, hidden: bool = False) -> list[tuple[str, Any]]:
    rows = Message.objects.filter(session=session).order_by("seq")
    rows = rows if hidden else rows.filter(hidden_by="")
    return [(row.role or row.kind, orjson.loads(row.body)) for row in rows]


def contents(session: Session, *, hidden: bool = False) -> list[tuple[str, Any]]:
    return [(role, body.get("content")) for role, body in said(session, hidden=hidden)]


def test_nanobot(bring_in: Import, tmp_path: Path) -> None:
    report = bring_in(write_lines(tmp_path / "telegram_42.jsonl", *samples.NANOBOT))
    assert (report["files"][0]["format"], report["sessions"], report["stored"]) == ("nanobot", 1, 4)
    session = Session.objects.get()
    assert (session.key, session.title, session.ended_at) == ("telegram:42", "Lisbon", None)
    assert session.created_at.isoformat() == "2026-05-01T10:00:00.000001+00:00"
    assert [role for role, _ in said(session)] == ["user", "assistant", "tool", "assistant"]
    assert said(session)[1][1]["tool_calls"] == [samples.CALL]
    assert said(session)[3][1]["reasoning_content"] == "The tool says so."
    first = Message.objects.get(seq=1)
    assert first.created_at.isoformat() == "2026-05-01T10:00:01.123456+00:00"
    assert orjson.loads(first.extra or "") == {"media": ["/a.png"]}
    assert_consistent(str(session.uid))


@pytest.mark.parametrize(
    ("stem", "key"),
    [
        ("telegram_42", "telegram:42"),
        ("dGVsZWdyYW06NDJfYQ", "telegram:42_a"),
        ("cli", "cli"),
        ("slack_C_1", "slack:C_1"),
    ],
)
def test_nanobot_finds_the_key_in_the_file_name(
    bring_in: Import, tmp_path: Path, stem: str, key: str
) -> None:
    bring_in(write_lines(tmp_path / f"{stem}.jsonl", *samples.NANOBOT[1:]), "nanobot")
    assert Session.objects.get().key == key


def test_nanobot_takes_what_is_whole_of_a_broken_file(bring_in: Import, tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "x_1.jsonl",
        samples.NANOBOT[1],
        b"\xff\xfe nonsense\n",
        b"\n",
        {"_type": "provider_state", "state": 1},
        b'{"role": "user", "content": "nul \\u0000 and \\ud800", "timestamp": "2026-05-01T11:00:00"}\n',
        samples.NANOBOT[0],
        [1],
        b'{"role": "user", "content": "cut o',
    )
    report = bring_in(path)["files"][0]
    assert (report["stored"], report["skipped"], report["repaired"]) == (2, 4, 1)
    lines = {reason["reason"]: reason["lines"] for reason in report["reasons"]}
    assert lines["not JSON"] == [2, 8]
    assert lines["a provider's private state"] == [4]
    assert lines["not an object"] == [7]
    session = Session.objects.get()
    # The metadata line tells the key, wherever it stands.
    assert session.key == "telegram:42"
    assert contents(session)[1] == ("user", "nul \ufffd and \ufffd")


def test_hermes_home(bring_in: Import, tmp_path: Path) -> None:
    report = bring_in(samples.hermes(tmp_path / "home"))
    assert {file["format"] for file in report["files"]} == {"hermes"}
    first, second = Session.objects.order_by("created_at")
    # The origin makes the key that a resolve would use.
    assert first.key == second.key == "agent:main:telegram:dm:42"
    assert (first.title, second.title) == ("First", "Second")
    assert (first.end_reason, second.ended_at, second.previous_id) == ("imported", None, first.uid)
    assert (second.input_tokens, second.output_tokens) == (70, 30)
    assert contents(first) == []
    assert contents(first, hidden=True) == [("user", "old")]
    assert contents(second) == [
        ("user", "hello"),
        ("assistant", None),
        ("tool", [{"type": "text", "text": "24"}]),
        ("assistant", "only here"),
    ]
    assert contents(second, hidden=True)[1] == ("user", "typo")
    assert said(second)[1][1]["tool_calls"] == [samples.CALL]


def test_claude_code(bring_in: Import, tmp_path: Path) -> None:
    report = bring_in(samples.claude(tmp_path))
    main, side = Session.objects.order_by("pk")
    assert main.key == f"claude-code:{samples.ZERO['sessionId']}"
    assert (main.title, side.forked_from_id) == ("Green tests", main.uid)
    assert contents(main) == [
        ("user", "Fix the tests"),
        ("assistant", "I look."),
        ("tool", "one"),
        ("tool", "two"),
        ("assistant", "Done."),
    ]
    assert ("user", "no, wait") in contents(main, hidden=True)
    body = said(main)[1][1]
    assert body["reasoning_content"] == "Let me look"
    assert [call["id"] for call in body["tool_calls"]] == ["t1", "t2"]
    # One message over four lines: its usage counts once, and it is the last line that has all of it.
    assert (main.input_tokens, main.output_tokens) == (15 + 15, 80 + 7)
    assert contents(side) == [("user", "side work")]
    assert report["skipped"] == 2
    assert_consistent(str(main.uid))


def test_claude_code_compaction(bring_in: Import, tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "f.jsonl",
        samples.claude_line("u1", None, "user", {"role": "user", "content": "long ago"}, 1),
        {
            **samples.ZERO,
            "uuid": "b1",
            "type": "system",
            "subtype": "compact_boundary",
            "logicalParentUuid": "u1",
        },
        samples.claude_line("u2", "b1", "user", {"content": "It was long."}, 2, isCompactSummary=True),
        samples.claude_line("u3", "u2", "user", {"content": "go on"}, 3),
    )
    bring_in(path)
    session = Session.objects.get()
    assert (session.summary, session.consolidated_through) == ("It was long.", 1)
    assert contents(session) == [("user", "long ago"), ("user", "go on")]


def test_codex(bring_in: Import, tmp_path: Path) -> None:
    report = bring_in(samples.codex(tmp_path))
    session = Session.objects.get()
    assert (session.key, session.title) == ("codex:0199c0de-0000-7000-8000-000000000001", "shop")
    assert contents(session) == [
        ("user", "List the files"),
        ("assistant", None),
        ("tool", "a b"),
        ("assistant", "a and b"),
    ]
    call = said(session)[1][1]
    assert call["reasoning_content"] == "ls it"
    assert call["tool_calls"][0]["function"] == {"name": "shell", "arguments": '{"cmd":"ls"}'}
    assert (session.input_tokens, session.output_tokens) == (250, 30)
    assert report["skipped"] == 2


def test_timmy(bring_in: Import, tmp_path: Path) -> None:
    stamp = "2026-05-04T07:00:0"
    bring_in(
        write_lines(
            tmp_path / "session_2026-05-04.jsonl",
            {"type": "message", "role": "user", "content": "hi", "timestamp": stamp + "1"},
            {
                "type": "message",
                "role": "timmy",
                "content": "ho",
                "confidence": 0.4,
                "timestamp": stamp + "2",
            },
            {"type": "tool_call", "tool": "ls", "args": {"p": 1}, "result": "a", "timestamp": stamp + "3"},
            {"type": "error", "error": "boom", "context": "ls", "timestamp": stamp + "4"},
            {"type": "decision", "decision": "stop", "rationale": "late", "timestamp": stamp + "5", "new": 1},
        )
    )
    session = Session.objects.get()
    assert session.key == "timmy:2026-05-04"
    assert [role for role, _ in said(session)] == ["user", "assistant", "tool_call", "error", "decision"]
    assert orjson.loads(Message.objects.get(seq=2).extra or "")["confidence"] == 0.4
    assert orjson.loads(Message.objects.get(seq=5).extra or "") == {"metadata": {"new": 1}}
    assert_consistent(str(session.uid))


@pytest.mark.parametrize("wrapped", [False, True])
def test_openai(bring_in: Import, tmp_path: Path, wrapped: bool) -> None:
    chat = [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "hi"}]
    path = tmp_path / "chat.json"
    path.write_bytes(orjson.dumps({"model": "x", "messages": chat} if wrapped else chat))
    report = bring_in(path)
    assert report["files"][0]["format"] == "openai"
    session = Session.objects.get()
    assert session.key == "openai:chat"
    assert contents(session) == [("system", "Be brief"), ("user", "hi")]


def test_session_buddy_goes_to_the_skills(api: Api, tmp_path: Path) -> None:
    path = tmp_path / "skill_metrics.json"
    at = "2026-05-01T10:00:00"
    uses = [
        {"skill_name": "review", "invoked_at": at, "completed": True, "duration_seconds": 2.5,
         "session_id": "s1", "user_query": "look at it", "selection_rank": 1, "workflow_path": "quick"},
        {"skill_name": "review", "invoked_at": at, "completed": False, "session_id": "s2",
         "error_type": "Timeout", "follow_up_actions": ["git commit", ""]},
        {"skill_name": "review", "invoked_at": at, "session_id": "s3", "selection_rank": "odd"},
        {"invoked_at": "x"},
    ]  # fmt: skip
    path.write_bytes(orjson.dumps({"invocations": uses, "skills": {}}))
    assert imported(path) == {"invocations": 3, "known": 0, "read": 3, "skipped": 1}
    assert imported(path) == {"invocations": 0, "known": 3, "read": 3, "skipped": 1}
    metrics = json_of(api.get("/skills/metrics"))["items"]
    shown = {name: metrics[0][name] for name in metrics[0] if name.endswith("_invocations")}
    assert shown == {
        "total_invocations": 3,
        "completed_invocations": 1,
        "failed_invocations": 1,
        "abandoned_invocations": 1,
        "running_invocations": 0,
    }
    assert (metrics[0]["avg_duration_seconds"], metrics[0]["common_errors"]) == (2.5, {"Timeout": 1})
    assert (metrics[0]["workflow_paths"], metrics[0]["follow_up_actions"]) == (
        {"quick": 1},
        {"git commit": 1},
    )


def imported(path: Path) -> dict[str, int]:
    told = io.StringIO()
    call_command("import_transcripts", "session-buddy", str(path), "--json", stdout=told)
    report = orjson.loads(told.getvalue())
    return {name: report[name] for name in ("invocations", "known", "read", "skipped")}


def test_a_broken_file_never_stops_the_others(bring_in: Import, tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"SQLite format 3\x00" + b"junk" * 100)
    (tmp_path / "b.json").write_bytes(b'{"what": ')
    write_lines(tmp_path / "c_1.jsonl", *samples.NANOBOT)
    report = bring_in(tmp_path)
    assert (report["files_read"], report["files_failed"], report["stored"]) == (3, 2, 4)
