"""From lines of Claude Code to messages: what a model said over several of them, what was typed, results."""

from collections.abc import Iterator
from typing import Any

import orjson

from sessions_app.transcripts.records import Usage

ENVELOPE = ("type", "message", "timestamp")
RESULT = ("type", "tool_use_id", "content")
THOUGHTS = ("thinking", "redacted_thinking")
WRAPPERS = ("<command-name>", "<command-message>", "<local-command-stdout>", "<system-reminder>")


class Made:
    def __init__(self, line: dict[str, Any], number: int, fields: dict[str, Any], part: int = 0) -> None:
        self.uuid = line["uuid"] if part == 0 else f"{line['uuid']}.{part}"
        self.at = line.get("timestamp")
        self.number = number
        self.fields = fields
        self.usage: Usage | None = None


class Group:
    """The lines of one message of the model, and the results that came between them."""

    def __init__(self, line: dict[str, Any], number: int) -> None:
        self._lines = [line]
        self.numbers = [number]
        self.results: list[tuple[dict[str, Any], int]] = []
        self._calls = set(_called(line))

    @property
    def id(self) -> Any:
        return self._lines[0]["message"].get("id")

    def takes(self, line: dict[str, Any]) -> bool:
        if line["type"] == "assistant":
            return self.id is not None and line["message"].get("id") == self.id
        return bool(answered := _answered(line)) and answered <= self._calls

    def add(self, line: dict[str, Any], number: int) -> None:
        if line["type"] == "assistant":
            self._lines.append(line)
            self.numbers.append(number)
            self._calls.update(_called(line))
        else:
            self.results.append((line, number))

    def behind(self, known: int) -> "Group":
        found = Group(self._lines[known], self.numbers[known])
        for line, number in zip(self._lines[known + 1 :], self.numbers[known + 1 :], strict=True):
            found.add(line, number)
        return found

    def usage(self, known: int) -> Usage | None:
        return _usage(self._lines[known - 1]["message"].get("usage"))

    def message(self) -> Made:
        first = self._lines[0]
        blocks = [block for line in self._lines for block in _blocks(line["message"].get("content"))]
        fields = _assistant(blocks)
        metadata = envelope(first)
        metadata["message"] = {
            name: value for name, value in first["message"].items() if name not in ("content", "role")
        }
        if len(self._lines) > 1:
            metadata["lines"] = [_differing(line, first) for line in self._lines]
        thinking = [block for block in blocks if block.get("type") in THOUGHTS]
        if thinking:
            metadata["thinking_blocks"] = thinking
        if not _can_be_told_again(blocks):
            metadata["content"] = blocks
        fields["metadata"] = metadata
        made = Made(first, self.numbers[0], fields)
        # Each line repeats the usage; the last one has the final count.
        made.usage = _usage(self._lines[-1]["message"].get("usage"))
        if isinstance(first.get("forkedFrom"), dict):
            # A copy: it was spent in the session that it comes from.
            made.usage = None
        return made


def _differing(line: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    """Of the lines of one message: what each says beside its content and unlike the first."""
    return {
        name: value
        for name, value in line.items()
        if name != "message" and (name == "uuid" or value != first.get(name))
    }


def _can_be_told_again(blocks: list[dict[str, Any]]) -> bool:
    """Whether thoughts, one text and calls, in this order and by their plain fields, are all that it has."""
    order = [0 if block["type"] in THOUGHTS else 2 if block["type"] == "tool_use" else 1 for block in blocks]
    plain = {"text": {"type", "text"}, "tool_use": {"type", "id", "name", "input"}}
    return (
        order == sorted(order)
        and order.count(1) <= 1
        and all(block.keys() <= plain.get(block["type"], block.keys()) for block in blocks)
    )


def _assistant(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    texts = [block for block in blocks if block.get("type") not in (*THOUGHTS, "tool_use")]
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


def of_user(line: dict[str, Any], number: int) -> list[Made]:
    """What was typed, or the results of tools, each an answer of its own."""
    content = line["message"].get("content")
    blocks = _blocks(content)
    results = [block for block in blocks if block.get("type") == "tool_result"]
    rest = [block for block in blocks if block.get("type") != "tool_result"]
    made: list[Made] = []
    for block in results:
        metadata = envelope(line) if not made else {}
        metadata |= {name: value for name, value in block.items() if name not in RESULT}
        answer = block.get("content")
        if isinstance(answer, list) and isinstance(_result(answer), str) and _is_more(answer):
            metadata["content"] = answer
        fields = {"role": "tool", "tool_call_id": _name(block.get("tool_use_id")), "content": _result(answer)}
        made.append(Made(line, number, fields | {"metadata": metadata}, len(made)))
    if rest or not results:
        text = content if isinstance(content, str) else _joined(rest)
        metadata = envelope(line) if not made else {}
        if isinstance(content, list) and isinstance(text, str) and _is_more(rest):
            metadata["content"] = rest
        if isinstance(text, str) and text.lstrip().startswith(WRAPPERS):
            metadata["isMeta"] = True
        made.append(Made(line, number, {"role": "user", "content": text, "metadata": metadata}, len(made)))
    return made


def _is_more(blocks: list[Any]) -> bool:
    """Than one plain text."""
    return len(blocks) > 1 or any(
        not isinstance(one, dict) or one.keys() != {"type", "text"} for one in blocks
    )


def envelope(line: dict[str, Any]) -> dict[str, Any]:
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


def plain_text(content: Any) -> str:
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


def difference(usage: Usage, before: Usage) -> Usage:
    return Usage(
        max(0, usage.input_tokens - before.input_tokens), max(0, usage.output_tokens - before.output_tokens)
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 else 0
