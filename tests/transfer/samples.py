"""Small files of each format, as the programs write them."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from .conftest import write_lines

CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lisbon"}'}}
NANOBOT = [
    {
        "_type": "metadata",
        "key": "telegram:42",
        "created_at": "2026-05-01T10:00:00.000001",
        "updated_at": "2026-05-01T10:03:00",
        "metadata": {"title": "Lisbon", "goal_state": {"open": 1}},
        "last_consolidated": 0,
    },
    {
        "role": "user",
        "content": "How warm is it?",
        "timestamp": "2026-05-01T10:00:01.123456",
        "media": ["/a.png"],
    },
    {"role": "assistant", "content": None, "timestamp": "2026-05-01T10:00:02", "tool_calls": [CALL]},
    {
        "role": "tool",
        "content": "24",
        "timestamp": "2026-05-01T10:00:03",
        "tool_call_id": "c1",
        "name": "weather",
    },
    {
        "role": "assistant",
        "content": "24 °C",
        "timestamp": "2026-05-01T10:00:04",
        "reasoning_content": "The tool says so.",
        "thinking_blocks": [{"type": "thinking", "thinking": "hm"}],
        "tools_used": ["weather"],
    },
]
ZERO = {
    "parentUuid": None,
    "isSidechain": False,
    "sessionId": "5f0c8f7e-0000-4000-8000-000000000001",
    "cwd": "/w/shop",
}


def claude_line(
    uuid: str, parent: str | None, kind: str, message: dict[str, Any], at: int, **more: Any
) -> dict[str, Any]:
    stamp = f"2026-05-02T08:00:{at:02}.000Z"
    return {
        **ZERO,
        "uuid": uuid,
        "parentUuid": parent,
        "type": kind,
        "message": message,
        "timestamp": stamp,
        **more,
    }


def part(content: dict[str, Any], output: int = 50, message_id: str = "m1") -> dict[str, Any]:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": output}
    return {"id": message_id, "role": "assistant", "model": "claude-x", "content": [content], "usage": usage}


def use(call: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"run {call}"}}


def result(call: str, text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]}


CLAUDE = [
    {"type": "file-history-snapshot", "messageId": "x"},
    claude_line("u1", None, "user", {"role": "user", "content": "Fix the tests"}, 1),
    # Taken back: the next line goes on from before it.
    claude_line("u2", "u1", "user", {"role": "user", "content": "no, wait"}, 2),
    claude_line(
        "a1", "u1", "assistant", part({"type": "thinking", "thinking": "Let me look", "signature": "s"}), 3
    ),
    claude_line("a2", "a1", "assistant", part({"type": "text", "text": "I look."}), 4),
    claude_line("a3", "a2", "assistant", part(use("t1")), 5),
    # Results of calls that ran side by side hang on their own call.
    claude_line("r1", "a3", "user", result("t1", "one"), 6, toolUseResult={"stdout": "one"}),
    claude_line("a4", "a3", "assistant", part(use("t2"), output=80), 7),
    claude_line("r2", "a4", "user", result("t2", "two"), 8),
    claude_line("a5", "r2", "assistant", part({"type": "text", "text": "Done."}, 7, "m2"), 9),
    claude_line(
        "s1", None, "user", {"role": "user", "content": "side work"}, 10, isSidechain=True, agentId="g7"
    ),
    {"type": "custom-title", "customTitle": "Green tests"},
    {"type": "brand-new", "uuid": "n1", "sessionId": ZERO["sessionId"], "parentUuid": "a5"},
]


def claude(folder: Path) -> Path:
    return write_lines(folder / "projects" / "-w-shop" / f"{ZERO['sessionId']}.jsonl", *CLAUDE)


def codex(folder: Path) -> Path:
    def line(at: int, kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": f"2026-05-03T09:00:{at:02}Z", "type": kind, "payload": payload}

    def count(given: int, made: int) -> dict[str, Any]:
        info = {"total_token_usage": {"input_tokens": given, "output_tokens": made}}
        return line(9, "event_msg", type="token_count", info=info)

    def text(role: str, words: str) -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": words}]}

    return write_lines(
        folder / "rollout-2026-05-03T09-00-00-0199c0de-0000-7000-8000-000000000001.jsonl",
        line(
            0,
            "session_meta",
            id="0199c0de-0000-7000-8000-000000000001",
            cwd="/w/shop",
            timestamp="2026-05-03T09:00:00Z",
        ),
        line(1, "response_item", **text("developer", "rules")),
        line(1, "response_item", **text("user", "<environment_context>x")),
        line(2, "response_item", **text("user", "List the files")),
        line(2, "event_msg", type="user_message", message="List the files"),
        line(
            3,
            "response_item",
            type="reasoning",
            summary=[{"type": "summary_text", "text": "ls it"}],
            encrypted_content="zz",
        ),
        line(4, "response_item", type="function_call", name="shell", arguments='{"cmd":"ls"}', call_id="k1"),
        line(5, "response_item", type="function_call_output", call_id="k1", output="a b"),
        count(100, 20),
        line(6, "response_item", **text("assistant", "a and b")),
        count(250, 30),
    )


SESSIONS = """
CREATE TABLE sessions (id TEXT, source TEXT, parent_session_id TEXT, started_at REAL, ended_at REAL,
  end_reason TEXT, input_tokens INT, output_tokens INT, title TEXT)
"""
MESSAGES = """
CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT,
  tool_calls TEXT, tool_name TEXT, timestamp REAL, active INT, compacted INT, finish_reason TEXT)
"""


def hermes(home: Path) -> Path:
    """A database with a chain of two sessions, the index, and a transcript that knows one message more."""
    (home / "sessions").mkdir(parents=True)
    calls, blocks = orjson.dumps([CALL]).decode(), '\x00json:[{"type":"text","text":"24"}]'
    sessions = [
        ("h2", "telegram", "h1", 1777630000.0, None, None, 70, 30, "Second"),
        ("h1", "telegram", None, 1777600000.0, 1777610000.0, "idle", 10, 5, "First"),
    ]
    messages = [
        (1, "h1", "user", "old", None, None, None, 1777600001.5, 1, 1, None),
        (2, "h2", "user", "hello", None, None, None, 1777630001.0, 1, 0, None),
        (3, "h2", "user", "typo", None, None, None, 1777630002.0, 0, 0, None),
        (4, "h2", "assistant", None, None, calls, None, 1777630003.0, 1, 0, "tool_calls"),
        (5, "h2", "tool", blocks, "c1", None, "weather", 1777630004.0, 1, 0, None),
    ]
    with closing(sqlite3.connect(home / "state.db")) as database:
        database.execute(SESSIONS)
        database.execute(MESSAGES)
        database.executemany("INSERT INTO sessions VALUES (?,?,?,?,?,?,?,?,?)", sessions)
        database.executemany("INSERT INTO messages VALUES (?,?,?,?,?,?,?,?,?,?,?)", messages)
        database.commit()
    origin = {"platform": "telegram", "chat_id": "42", "chat_type": "dm", "user_id": "42", "user_name": "Ada"}
    entries = {
        "telegram:42": {
            "session_id": "h2",
            "display_name": "Ada",
            "origin": origin,
            "created_at": "2026-05-01T10:06:40",
        },
        "old:42": {"session_id": "h1", "origin": origin},
    }
    (home / "sessions" / "sessions.json").write_bytes(orjson.dumps(entries))
    write_lines(
        home / "sessions" / "h2.jsonl",
        {"role": "session_meta", "tools": [], "model": "m", "timestamp": "2026-05-01T10:06:40"},
        {"role": "user", "content": "hello", "timestamp": "2026-05-01T10:06:41"},
        {"role": "assistant", "content": "only here", "timestamp": "2026-05-01T10:06:50", "message_id": "9"},
    )
    return home
