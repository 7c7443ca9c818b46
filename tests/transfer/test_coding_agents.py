"""Claude Code and Codex: trees, copies, compactions, and nothing of them lost."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from sessions_app.models import Message, Session

from .conftest import Import, write_lines
from .samples import ZERO, claude_line, part, result, use

ROLLOUT = "rollout-2026-05-03T09-00-00-0199c0de-0000-7000-8000-000000000001.jsonl"


def shown(session: Session) -> list[tuple[str, Any, str]]:
    rows = Message.objects.filter(session=session).order_by("seq")
    found = []
    for row in rows:
        body = orjson.loads(row.body)
        found.append((row.role or row.kind, body.get("content", body.get("error")), row.hidden_by))
    return found


def metadata(seq: int) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(Message.objects.get(seq=seq).extra or "{}").get("metadata", {})
    return found


def typed(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def words(text: str, output: int = 5, message_id: str = "m9") -> dict[str, Any]:
    return part({"type": "text", "text": text}, output, message_id)


def test_a_compaction_of_an_older_version_hides_nothing_before_it(bring_in: Import, tmp_path: Path) -> None:
    boundary = {**ZERO, "uuid": "b1", "parentUuid": None, "type": "system", "subtype": "compact_boundary"}
    bring_in(
        write_lines(
            tmp_path / "f.jsonl",
            claude_line("u1", None, "user", typed("first"), 1),
            claude_line("u2", "u1", "user", typed("taken back"), 2),
            claude_line("a1", "u1", "assistant", words("second"), 3),
            boundary,
            claude_line("u3", "b1", "user", typed("It was long."), 4, isCompactSummary=True),
            claude_line("u4", "u3", "user", typed("go on"), 5),
        )
    )
    session = Session.objects.get()
    assert shown(session) == [
        ("user", "first", ""),
        ("user", "taken back", "rewind"),
        ("assistant", "second", ""),
        ("user", "It was long.", "compact"),
        ("user", "go on", ""),
    ]
    assert (session.summary, session.consolidated_through) == ("It was long.", 3)


def test_a_compaction_that_was_taken_back_condenses_nothing(bring_in: Import, tmp_path: Path) -> None:
    bring_in(
        write_lines(
            tmp_path / "f.jsonl",
            claude_line("u1", None, "user", typed("first"), 1),
            claude_line("u2", "u1", "user", typed("It was long."), 2, isCompactSummary=True),
            claude_line("a1", "u1", "assistant", words("on another way"), 3),
        )
    )
    session = Session.objects.get()
    assert (session.summary, session.consolidated_through) == ("", 0)


def test_usage_counts_once_however_the_lines_of_a_message_are_parted(
    bring_in: Import, tmp_path: Path
) -> None:
    reminded = {"role": "user", "content": [*result("t1", "one")["content"], {"type": "text", "text": "and"}]}
    bring_in(
        write_lines(
            tmp_path / "f.jsonl",
            claude_line("a1", None, "assistant", part(use("t1"), 20), 1),
            claude_line("u1", "a1", "user", reminded, 2),
            claude_line("a2", "u1", "assistant", part(use("t2"), 50), 3),
        )
    )
    session = Session.objects.get()
    assert (session.input_tokens, session.output_tokens) == (15, 50)


def test_a_copy_of_another_session_spends_nothing(bring_in: Import, tmp_path: Path) -> None:
    forked = {"forkedFrom": {"sessionId": "x", "messageUuid": "a0"}}
    bring_in(
        write_lines(
            tmp_path / "f.jsonl",
            claude_line("a1", None, "assistant", words("copied", 40), 1, **forked),
            claude_line("a2", "a1", "assistant", words("new", 7, "m10"), 2),
        )
    )
    assert Session.objects.get().output_tokens == 7


def test_a_failed_call_of_the_model_is_an_error(bring_in: Import, tmp_path: Path) -> None:
    failed = {
        **ZERO,
        "uuid": "e1",
        "parentUuid": "u1",
        "type": "system",
        "subtype": "api_error",
        "error": {"status": 529},
        "retryInMs": 500,
        "timestamp": "2026-05-02T08:00:02.000Z",
    }
    path = write_lines(
        tmp_path / "f.jsonl",
        claude_line("u1", None, "user", typed("hello"), 1),
        failed,
        claude_line("a1", "e1", "assistant", words("here"), 3),
    )
    assert bring_in(path)["stored"] == 3
    session = Session.objects.get()
    assert shown(session)[1] == ("error", '{"status":529}', "")
    assert (session.errors_count, metadata(2)["retryInMs"]) == (1, 500)
    assert bring_in(path)["stored"] == 0


def test_nothing_of_a_line_is_lost(bring_in: Import, tmp_path: Path) -> None:
    thought = part({"type": "thinking", "thinking": "hm", "signature": "sig"}, 1)
    call = part({**use("t1"), "caller": {"type": "direct"}}, 9)
    texts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    told = {**result("t1", "")["content"][0], "content": texts, "is_error": True, "extra": 1}
    answer = {"role": "user", "content": [told]}
    pasted = [{"type": "text", "text": "one"}, {"type": "text", "text": "two", "cache_control": {"x": 1}}]
    bring_in(
        write_lines(
            tmp_path / "f.jsonl",
            claude_line("a1", None, "assistant", thought, 1, requestId="r"),
            claude_line("a2", "a1", "assistant", words("text", 2, "m1"), 2, requestId="r", unknown=2),
            claude_line("a3", "a2", "assistant", call, 3, requestId="r"),
            claude_line("r1", "a3", "user", answer, 4),
            claude_line("u1", "r1", "user", {"role": "user", "content": pasted}, 5),
        )
    )
    first = metadata(1)
    assert [line["uuid"] for line in first["lines"]] == ["a1", "a2", "a3"]
    assert (first["lines"][1]["unknown"], first["lines"][2]["timestamp"]) == (2, "2026-05-02T08:00:03.000Z")
    assert first["thinking_blocks"] == [{"type": "thinking", "thinking": "hm", "signature": "sig"}]
    assert first["content"][2]["caller"] == {"type": "direct"}
    assert (metadata(2)["is_error"], metadata(2)["extra"]) == (True, 1)
    assert metadata(2)["content"] == texts
    assert metadata(3)["content"] == pasted
    assert [content for _, content, _ in shown(Session.objects.get())] == ["text", "a\n\nb", "one\n\ntwo"]


def codex(tmp_path: Path, *items: dict[str, Any]) -> Path:
    def line(at: int, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": f"2026-05-03T09:00:{at:02}Z", "type": kind, "payload": payload}

    kinds = ("compacted", "event_msg")
    told = [
        line(at, item.pop("_type") if item.get("_type") in kinds else "response_item", item)
        for at, item in enumerate(items, 1)
    ]
    return write_lines(tmp_path / ROLLOUT, line(0, "session_meta", {"id": "s", "cwd": "/w"}), *told)


def message(role: str, *texts: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text} for text in texts]}


def test_codex_takes_the_summary_from_the_history_that_took_the_place(
    bring_in: Import, tmp_path: Path
) -> None:
    history = [message("user", "<environment_context>x"), message("user", "They listed files.")]
    compacted = {"_type": "compacted", "message": "", "replacement_history": history}
    bring_in(codex(tmp_path, message("user", "list"), compacted, message("user", "go on")))
    session = Session.objects.get()
    assert (session.summary, session.consolidated_through) == ("They listed files.", 1)


def test_codex_keeps_thoughts_that_nothing_followed(bring_in: Import, tmp_path: Path) -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "broken off"}], "id": "x"}
    path = codex(tmp_path, message("user", "a"), thought, message("user", "b"), message("assistant", "c"))
    bring_in(path)
    rows = list(Message.objects.order_by("seq").values_list("kind", "body"))
    assert [kind for kind, _ in rows] == ["message", "tool_call", "message", "message"]
    assert orjson.loads(rows[1][1]) == {"tool": "reasoning", "result": "broken off"}
    assert metadata(2)["items"] == [thought]
    assert "reasoning_content" not in orjson.loads(rows[3][1])
    assert bring_in(path)["stored"] == 0


def test_codex_keeps_parts_and_outputs_as_they_were(bring_in: Import, tmp_path: Path) -> None:
    output = {"content": "done", "success": True}
    bring_in(
        codex(
            tmp_path,
            message("user", "one", "two"),
            {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", "call_id": "k"},
            {"type": "custom_tool_call_output", "call_id": "k", "output": output},
        )
    )
    assert [part["text"] for part in metadata(1)["content"]] == ["one", "two"]
    assert metadata(3)["output"] == output
    assert shown(Session.objects.get())[2][:2] == ("tool", "done")


GROWING = [
    claude_line("u1", None, "user", typed("go"), 1),
    claude_line("a1", "u1", "assistant", part({"type": "thinking", "thinking": "hm"}, 1), 2),
    claude_line("a2", "a1", "assistant", part({"type": "text", "text": "I look."}, 4), 3),
    claude_line("a3", "a2", "assistant", part(use("t1"), 9), 4),
    claude_line("r1", "a3", "user", result("t1", "one"), 5),
    claude_line("a4", "a3", "assistant", part(use("t2"), 20), 6),
    claude_line("r2", "a4", "user", result("t2", "two"), 7),
    claude_line("a5", "r2", "assistant", words("Done.", 3), 8),
]


def held() -> dict[str, Any]:
    """What was said in all, however it is parted into messages."""
    session = Session.objects.get()
    bodies = [orjson.loads(body) for body in Message.objects.order_by("seq").values_list("body", flat=True)]
    return {
        "texts": [body["content"] for body in bodies if body["content"]],
        "thoughts": [body["reasoning_content"] for body in bodies if body.get("reasoning_content")],
        "calls": [call["id"] for body in bodies for call in body.get("tool_calls", ())],
        "answers": [body["tool_call_id"] for body in bodies if body["role"] == "tool"],
        "spent": (session.input_tokens, session.output_tokens),
    }


@pytest.mark.parametrize("steps", [[end] for end in range(1, 8)] + [[2, 3, 4, 6], [1, 2, 3, 4, 5, 6, 7]])
def test_a_file_that_was_imported_while_it_was_written_is_whole_in_the_end(
    bring_in: Import, tmp_path: Path, steps: list[int]
) -> None:
    path = tmp_path / "f.jsonl"
    bring_in(write_lines(path, *GROWING))
    whole = held()
    Session.objects.all().delete()
    for end in [*steps, len(GROWING)]:
        bring_in(write_lines(path, *GROWING[:end]))
        assert bring_in(path)["stored"] == 0
    assert held() == whole
    assert whole["spent"] == (30, 23)


def test_a_session_that_went_on_from_a_copy_has_what_is_new_and_tells_where_it_comes_from(
    bring_in: Import, tmp_path: Path
) -> None:
    """Its file comes first by its name, and the original first by its time."""
    first = [
        claude_line("u1", None, "user", typed("old"), 1),
        claude_line("a1", "u1", "assistant", words("o"), 2),
    ]
    own = {"sessionId": "5f0c8f7e-0000-4000-8000-000000000002"}
    copied = [{**line, **own} for line in first]
    write_lines(tmp_path / "z.jsonl", *first)
    write_lines(tmp_path / "a.jsonl", *copied, claude_line("u2", "a1", "user", typed("new"), 3, **own))
    bring_in(tmp_path)
    original, resumed = Session.objects.order_by("pk")
    assert shown(original) == [("user", "old", ""), ("assistant", "o", "")]
    assert shown(resumed) == [("user", "new", "")]
    assert resumed.forked_from_id == original.uid
