"""Codex CLI: one rollout a file. Items of the conversation count; events only tell what was used."""

import re
from typing import Any

import orjson

from sessions_app.transcripts.lines import json_lines
from sessions_app.transcripts.marks import digest
from sessions_app.transcripts.records import (
    Condensed,
    File,
    Head,
    Records,
    Repaired,
    Said,
    Skipped,
    Totals,
    Usage,
)
from sessions_app.transcripts.times import moment

NAME = "codex"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
WRAPPERS = ("<environment_context>", "<user_instructions>", "<recommended_plugins>", "# AGENTS.md")
CALLS = ("function_call", "custom_tool_call", "local_shell_call")
RESULTS = ("function_call_output", "custom_tool_call_output")


def read(file: File) -> Records:
    rollout: _Rollout | None = None
    with file.open() as stream:
        for line in json_lines(stream):
            if line.problem:
                yield (
                    Repaired(line.number, line.problem) if line.value else Skipped(line.number, line.problem)
                )
            if not isinstance(line.value, dict):
                continue
            kind, payload = _envelope(line.value)
            if rollout is None:
                rollout = _Rollout(file, payload if kind == "session_meta" else {})
                yield rollout.head
            yield from rollout.take(kind, payload, line.value, line.number)
    if rollout is not None:
        yield from rollout.left_over()


def _envelope(record: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The first versions wrote bare items, behind a line of what is now `session_meta`."""
    payload = record.get("payload")
    if isinstance(payload, dict):
        return str(record.get("type")), payload
    if "type" not in record and "id" in record:
        return "session_meta", record
    return "response_item", record


class _Rollout:
    def __init__(self, file: File, meta: dict[str, Any]) -> None:
        named = UUID.search(file.name)
        ref = str(meta.get("id") or meta.get("session_id") or (named[0] if named else file.stem))
        self._zone = file.zone
        self._at = moment(meta.get("timestamp"), file.zone)
        self._reasoning: list[dict[str, Any]] = []
        self._reasoned_at = 0
        self._model: str | None = None
        cwd = meta.get("cwd")
        kept = {
            name: value for name, value in meta.items() if name not in ("base_instructions", "instructions")
        }
        self.head = Head(
            ref,
            f"codex:{ref}",
            metadata=kept,
            created_at=meta.get("timestamp"),
            fork_ref=str(meta.get("forked_from_id") or ""),
            raw={"meta": meta},
            title=cwd.rstrip("/").rpartition("/")[2] if isinstance(cwd, str) else "",
        )

    def take(self, kind: str, payload: dict[str, Any], record: dict[str, Any], line: int) -> Records:
        self._at = moment(record.get("timestamp"), self._zone) or self._at
        if kind == "response_item":
            yield from self._item(payload, line)
        elif kind == "event_msg":
            yield from self._event(payload)
        elif kind == "compacted":
            yield from self.left_over()
            yield Condensed(self.head.ref, f"{line}.{digest(payload)}", _summary(payload))
        elif kind == "turn_context":
            self._model = payload.get("model") if isinstance(payload.get("model"), str) else self._model
        elif kind != "session_meta":
            yield Skipped(line, f"a record of type {kind[:40]}")

    def _item(self, item: dict[str, Any], line: int) -> Records:
        kind = item.get("type", "message" if "role" in item else None)
        if kind == "message":
            yield from self._message(item, line)
        elif kind == "reasoning":
            self._reasoning.append(item)
            self._reasoned_at = line
        elif kind in CALLS:
            yield self._said(line, item, _call(item))
        elif kind in RESULTS:
            result = {"role": "tool", "tool_call_id": _call_id(item), "content": _output(item.get("output"))}
            known = (
                ("type", "call_id", "output") if isinstance(item.get("output"), str) else ("type", "call_id")
            )
            yield self._said(line, item, result, rest=_rest(item, known))
        elif isinstance(kind, str):
            fields = {
                "kind": "tool_call",
                "tool": kind,
                "args": item.get("action"),
                "result": item.get("status"),
            }
            yield self._said(line, item, fields, rest={"item": item})
        else:
            yield Skipped(line, "an item without a type")

    def _message(self, item: dict[str, Any], line: int) -> Records:
        role, content = item.get("role"), item.get("content")
        text = _text(content)
        if role not in ("user", "assistant"):
            yield Skipped(line, f"instructions of role {str(role)[:20]}")
        elif role == "user" and text.lstrip().startswith(WRAPPERS):
            yield Skipped(line, "instructions that the program put in")
        else:
            if role == "user":
                yield from self.left_over()
            message = {"role": role, "content": text if _only_text(content) else _blocks(content)}
            rest = _rest(item, ("type", "role", "content"))
            if isinstance(message["content"], str) and _is_more(content):
                rest["content"] = content
            yield self._said(line, item, message, rest=rest)

    def left_over(self) -> Records:
        """Thoughts that nothing followed, of a turn that was broken off."""
        if self._reasoning:
            items, self._reasoning = self._reasoning, []
            text = "\n\n".join(filter(None, map(_reasoned, items)))
            fields = {"kind": "tool_call", "tool": "reasoning", "args": None, "result": text or None}
            yield self._said(self._reasoned_at, {"items": items}, fields, rest={"items": items})

    def _said(
        self, line: int, item: dict[str, Any], message: dict[str, Any], rest: dict[str, Any] | None = None
    ) -> Said:
        metadata = _rest(item, ("type", "call_id")) if rest is None else rest
        if message.get("role") == "assistant":
            if self._reasoning:
                message["reasoning_content"] = "\n\n".join(filter(None, map(_reasoned, self._reasoning)))
                metadata = metadata | {"reasoning": self._reasoning}
                self._reasoning = []
            if self._model:
                metadata = metadata | {"model": self._model}
        if self._at is not None:
            message["created_at"] = self._at.isoformat()
        return Said(self.head.ref, f"{line}.{digest(item)}", message | {"metadata": metadata}, line)

    def _event(self, event: dict[str, Any]) -> Records:
        info = event.get("info")
        total = info.get("total_token_usage") if isinstance(info, dict) else None
        if event.get("type") == "token_count" and isinstance(total, dict):
            yield Totals(
                self.head.ref, Usage(_count(total.get("input_tokens")), _count(total.get("output_tokens")))
            )


def _call(item: dict[str, Any]) -> dict[str, Any]:
    name = item.get("name") if isinstance(item.get("name"), str) else None
    given = item.get("arguments", item.get("input", item.get("action")))
    arguments = given if isinstance(given, str) else orjson.dumps(given).decode()
    call = {
        "id": _call_id(item),
        "type": "function",
        "function": {"name": (name or str(item["type"]))[:512], "arguments": arguments},
    }
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _call_id(item: dict[str, Any]) -> str:
    found = item.get("call_id") or item.get("id")
    return found[:512] if isinstance(found, str) else "unknown"


def _output(output: Any) -> str:
    if isinstance(output, dict) and isinstance(output.get("content"), str):
        return str(output["content"])
    return output if isinstance(output, str) else orjson.dumps(output).decode()


def _summary(payload: dict[str, Any]) -> str:
    """What takes the place of what was before: a message, or else the texts that the history became."""
    told = payload.get("message")
    if isinstance(told, str) and told:
        return told
    history = payload.get("replacement_history")
    texts = [
        _text(item.get("content"))
        for item in (history if isinstance(history, list) else ())
        if isinstance(item, dict) and item.get("role") in ("user", "assistant")
    ]
    return "\n\n".join(text for text in texts if text and not text.lstrip().startswith(WRAPPERS))


def _is_more(content: Any) -> bool:
    """Than one plain text."""
    return isinstance(content, list) and (
        len(content) != 1 or not isinstance(content[0], dict) or content[0].keys() != {"type", "text"}
    )


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)
    )


def _only_text(content: Any) -> bool:
    return not isinstance(content, list) or all(
        isinstance(part, dict) and isinstance(part.get("text"), str) for part in content
    )


def _blocks(content: Any) -> list[Any]:
    return [
        part
        if isinstance(part, dict) and isinstance(part.get("type"), str) and part["type"]
        else {"type": "text", "text": str(part)}
        for part in content
    ]


def _reasoned(item: dict[str, Any]) -> str:
    return _text(item.get("summary")) or _text(item.get("content"))


def _rest(item: dict[str, Any], left_out: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in left_out}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 else 0
