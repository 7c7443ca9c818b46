"""Claude Code: an append-only tree of lines. One message of the model is several of them."""

from collections.abc import Iterator
from typing import Any

import orjson

from sessions_app.transcripts.formats.claude_tree import visible_lines
from sessions_app.transcripts.lines import json_lines
from sessions_app.transcripts.records import (
    Condensed,
    File,
    Head,
    Record,
    Records,
    Repaired,
    Retitled,
    Said,
    Skipped,
    Usage,
)
from sessions_app.transcripts.times import moment

NAME = "claude-code"
SAID = ("user", "assistant")
ENVELOPE = ("type", "message", "timestamp")
TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
WRAPPERS = ("<command-name>", "<command-message>", "<local-command-stdout>", "<system-reminder>")
SIDE_LINES = 100_000


def read(file: File) -> Records:
    transcript = _Transcript(file)
    with file.open() as stream:
        for line in json_lines(stream):
            if line.problem:
                yield (
                    Repaired(line.number, line.problem) if line.value else Skipped(line.number, line.problem)
                )
            if isinstance(line.value, dict):
                yield from transcript.take(line.value, line.number)
            elif line.value is not None:
                yield Skipped(line.number, "not an object")
    yield from transcript.flush()


class _Transcript:
    def __init__(self, file: File) -> None:
        self._file = file
        self._visible = visible_lines(file)
        self._begun: set[str] = set()
        self._side_of: dict[str, str] = {}
        self._groups: dict[str, _Group] = {}
        self._main: str | None = None

    def take(self, line: dict[str, Any], number: int) -> Records:
        kind = line.get("type")
        if kind in TITLES:
            title = line.get(TITLES[kind])
            if isinstance(title, str) and self._main and self._main in self._begun:
                yield Retitled(self._main, title[:512])
        elif kind in SAID and isinstance(line.get("message"), dict) and isinstance(line.get("uuid"), str):
            yield from self._conversation(line, number)
        elif kind == "system" and line.get("subtype") == "compact_boundary":
            ref = self._ref(line)
            yield from self._begin(ref, line)
            yield from self._flush(ref)
        else:
            yield Skipped(number, f"a line of type {str(kind)[:40]}")

    def flush(self) -> Records:
        for ref in list(self._groups):
            yield from self._flush(ref)

    def _conversation(self, line: dict[str, Any], number: int) -> Records:
        ref = self._ref(line)
        yield from self._begin(ref, line)
        group = self._groups.get(ref)
        if group is not None and group.takes(line):
            group.add(line, number)
            return
        yield from self._flush(ref)
        if line["type"] == "assistant":
            self._groups[ref] = _Group(line, number)
        elif line.get("isCompactSummary"):
            text = _plain_text(line["message"].get("content"))
            yield Condensed(ref, f"condensed {line['uuid']}", text)
            yield from self._told(ref, _user(line, number), hidden="compact")
        else:
            yield from self._told(ref, _user(line, number))

    def _flush(self, ref: str) -> Records:
        group = self._groups.pop(ref, None)
        if group is None:
            return
        shown = any(self._shown(ref, number) for number in group.numbers)
        yield from self._told(ref, [group.message()], hidden="" if shown else "rewind")
        for line, number in group.results:
            yield from self._told(ref, _user(line, number), hidden="" if shown else "rewind")

    def _told(self, ref: str, said: list["_Message"], hidden: str | None = None) -> Iterator[Record]:
        for message in said:
            by = hidden
            if by is None:
                by = "" if self._shown(ref, message.number) else "rewind"
            fields = message.fields
            if at := moment(message.at, self._file.zone):
                fields["created_at"] = at.isoformat()
            yield Said(ref, message.uuid, fields, message.number, by, message.usage, anywhere=True)

    def _shown(self, ref: str, number: int) -> bool:
        return ref != self._main or self._visible(number)

    def _ref(self, line: dict[str, Any]) -> str:
        """The file is one session, whatever ids its copied lines carry; side chains stand beside it."""
        own = str(line.get("sessionId") or self._file.stem)
        if self._main is None and not line.get("isSidechain"):
            stem = self._file.stem
            self._main = stem if len(stem) == 36 else own
        if not line.get("isSidechain"):
            return self._main or own
        return f"{own}/{line.get('agentId') or self._side(line)}"

    def _side(self, line: dict[str, Any]) -> str:
        uuid, parent = str(line.get("uuid")), str(line.get("parentUuid"))
        root = self._side_of.get(parent, uuid)
        if len(self._side_of) >= SIDE_LINES:
            self._side_of.clear()
        self._side_of[uuid] = root
        return root

    def _begin(self, ref: str, line: dict[str, Any]) -> Iterator[Record]:
        if ref in self._begun:
            return
        self._begun.add(ref)
        kept = ("cwd", "version", "gitBranch", "slug", "userType", "agentId", "isSidechain", "forkedFrom")
        metadata = {name: line[name] for name in kept if line.get(name) is not None}
        main, _, side = ref.partition("/")
        forked = line.get("forkedFrom")
        parent = main if side else str(forked.get("sessionId") or "") if isinstance(forked, dict) else ""
        cwd = line.get("cwd")
        title = cwd.rstrip("/").rpartition("/")[2] if isinstance(cwd, str) else ""
        key = f"claude-code:{main}" + (f":side={side}" if side else "")
        yield Head(ref, key, title, metadata, created_at=line.get("timestamp"), fork_ref=parent, raw=metadata)


class _Message:
    def __init__(self, line: dict[str, Any], number: int, fields: dict[str, Any], part: int = 0) -> None:
        self.uuid = line["uuid"] if part == 0 else f"{line['uuid']}.{part}"
        self.at = line.get("timestamp")
        self.number = number
        self.fields = fields
        self.usage: Usage | None = None


class _Group:
    """The lines of one message of the model, and the results that came between them."""

    def __init__(self, line: dict[str, Any], number: int) -> None:
        self._lines = [line]
        self.numbers = [number]
        self.results: list[tuple[dict[str, Any], int]] = []
        self._calls = set(_called(line))

    def takes(self, line: dict[str, Any]) -> bool:
        if line["type"] == "assistant":
            own = self._lines[0]["message"].get("id")
            return own is not None and line["message"].get("id") == own
        return bool(answered := _answered(line)) and answered <= self._calls

    def add(self, line: dict[str, Any], number: int) -> None:
        if line["type"] == "assistant":
            self._lines.append(line)
            self.numbers.append(number)
            self._calls.update(_called(line))
        else:
            self.results.append((line, number))

    def message(self) -> _Message:
        first = self._lines[0]
        blocks = [block for line in self._lines for block in _blocks(line["message"].get("content"))]
        fields = _assistant(blocks)
        metadata = _envelope(first)
        metadata["message"] = {
            name: value for name, value in first["message"].items() if name not in ("content", "role")
        }
        if len(self._lines) > 1:
            metadata["lines"] = [line.get("uuid") for line in self._lines]
        thinking = [block for block in blocks if block.get("type") in ("thinking", "redacted_thinking")]
        if thinking:
            metadata["thinking_blocks"] = thinking
        fields["metadata"] = metadata
        made = _Message(first, self.numbers[0], fields)
        # Each line repeats the usage; the last one has the final count.
        made.usage = _usage(self._lines[-1]["message"].get("usage"))
        return made


def _assistant(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    texts = [
        block for block in blocks if block.get("type") not in ("thinking", "redacted_thinking", "tool_use")
    ]
    calls = [_call(block) for block in blocks if block.get("type") == "tool_use"]
    thoughts = [
        str(block.get("thinking"))
        for block in blocks
        if block.get("type") == "thinking" and block.get("thinking")
    ]
    fields: dict[str, Any] = {"role": "assistant", "content": _joined(texts)}
    if calls:
        fields["tool_calls"] = calls
        fields["content"] = fields["content"] or None
    if thoughts:
        fields["reasoning_content"] = "\n\n".join(thoughts)
    return fields


def _user(line: dict[str, Any], number: int) -> list[_Message]:
    """What was typed, or the results of tools, each an answer of its own."""
    content = line["message"].get("content")
    blocks = _blocks(content)
    results = [block for block in blocks if block.get("type") == "tool_result"]
    rest = [block for block in blocks if block.get("type") != "tool_result"]
    made: list[_Message] = []
    for block in results:
        metadata = _envelope(line) if not made else {}
        if block.get("is_error"):
            metadata["is_error"] = block["is_error"]
        answer = block.get("content")
        fields = {"role": "tool", "tool_call_id": _name(block.get("tool_use_id")), "content": _result(answer)}
        made.append(_Message(line, number, fields | {"metadata": metadata}, len(made)))
    if rest or not results:
        text = content if isinstance(content, str) else _joined(rest)
        metadata = _envelope(line) if not made else {}
        if isinstance(text, str) and text.lstrip().startswith(WRAPPERS):
            metadata["isMeta"] = True
        made.append(
            _Message(line, number, {"role": "user", "content": text, "metadata": metadata}, len(made))
        )
    return made


def _envelope(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name not in ENVELOPE and value is not None}


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    found = content if isinstance(content, list) else []
    return [
        block
        if isinstance(block, dict) and isinstance(block.get("type"), str)
        else {"type": "text", "text": str(block)}
        for block in found
    ]


def _joined(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Plain text where it is nothing else."""
    if all(block.get("type") == "text" and isinstance(block.get("text"), str) for block in blocks):
        return "\n\n".join(block["text"] for block in blocks)
    return blocks


def _result(content: Any) -> Any:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return _joined(_blocks(content))
    return orjson.dumps(content).decode()


def _plain_text(content: Any) -> str:
    joined = _joined(_blocks(content))
    if isinstance(joined, str):
        return joined
    return "\n\n".join(str(block["text"]) for block in joined if isinstance(block.get("text"), str))


def _call(block: dict[str, Any]) -> dict[str, Any]:
    arguments = orjson.dumps(block.get("input") or {}).decode()
    function = {"name": _name(block.get("name")), "arguments": arguments}
    return {"id": _name(block.get("id")), "type": "function", "function": function}


def _called(line: dict[str, Any]) -> Iterator[str]:
    for block in _blocks(line["message"].get("content")):
        if block.get("type") == "tool_use":
            yield _name(block.get("id"))


def _answered(line: dict[str, Any]) -> set[str]:
    blocks = _blocks(line["message"].get("content"))
    if not all(block.get("type") == "tool_result" for block in blocks):
        return set()
    return {_name(block.get("tool_use_id")) for block in blocks}


def _name(value: Any) -> str:
    return value[:512] if isinstance(value, str) and value else "unknown"


def _usage(given: Any) -> Usage | None:
    if not isinstance(given, dict):
        return None
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Usage(sum(_count(given.get(name)) for name in read), _count(given.get("output_tokens")))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 else 0
