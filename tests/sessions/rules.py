"""What the providers accept and what a window is, written once more: slowly, and from the rules alone."""

import re
from dataclasses import dataclass, field
from typing import Any

JSON = dict[str, Any]
STAND_IN_TOKENS = 17
OPENAI_PARTS = {
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "system": {"text"},
    "tool": {"text"},
}
ANTHROPIC_BLOCKS = {
    "user": {"text", "image", "document", "search_result", "tool_result"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
}


def accepted_by_openai(messages: list[JSON]) -> None:
    """Each assistant call is answered once, by the tool messages that follow it directly."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        role = message["role"]
        assert re.fullmatch(r"[^\s<|\\/>]{1,64}", message.get("name", "none"))
        assert set(message) <= {"role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content"}
        _openai_content(role, message)
        if role == "tool":
            assert message["tool_call_id"] in waiting
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting
        assert "tool_call_id" not in message
        for call in message.get("tool_calls", ()):
            assert call["type"] == "function"
            assert isinstance(call["function"]["arguments"], str)
            assert call["id"] not in seen
            seen.add(call["id"])
            waiting.append(call["id"])
    assert not waiting


def _openai_content(role: str, message: JSON) -> None:
    content = message["content"]
    if content is None:
        assert message["tool_calls"]
    elif isinstance(content, list):
        assert content
        assert {part["type"] for part in content} <= OPENAI_PARTS[role]
        for part in content:
            if part["type"] == "image_url":
                assert re.match("https?://|data:", part["image_url"]["url"])
    else:
        assert isinstance(content, str)


def accepted_by_anthropic(system: str | None, messages: list[JSON]) -> None:
    assert system is None or system.strip()
    assert [message["role"] for message in messages] == [
        ("user", "assistant")[place % 2] for place in range(len(messages))
    ]
    uses: list[str] = []
    seen: set[str] = set()
    for message in messages:
        blocks = message["content"]
        assert blocks
        assert {block["type"] for block in blocks} <= ANTHROPIC_BLOCKS[message["role"]]
        answers = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(answers) == sorted(uses)
        assert all(block["type"] == "tool_result" for block in blocks[: len(answers)])
        uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert not seen & set(uses)
        assert len(set(uses)) == len(uses)
        seen.update(uses)
        for block in blocks:
            _anthropic_block(block)
    assert not uses


def _anthropic_block(block: JSON) -> None:
    if block["type"] == "text":
        assert block["text"].strip()
    elif block["type"] == "thinking":
        assert block["signature"]
    elif block["type"] == "tool_use":
        assert re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"])
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", block["name"])
        assert isinstance(block["input"], dict)
    elif block["type"] == "tool_result":
        for inner in block.get("content", ()):
            assert inner["type"] in {"text", "image", "document", "search_result"}
            _anthropic_block(inner)
    elif block["type"] == "image":
        assert block["source"]["type"] == "base64" or re.match("https?://", block["source"]["url"])


@dataclass
class Expected:
    """The window by seqs: None is a stand-in."""

    seqs: list[int | None] = field(default_factory=list)
    tokens: int = 0
    orphans: list[int] = field(default_factory=list)
    repeats: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Said:
    """A visible message: where it stands, what it is, what it costs."""

    seq: int
    message: JSON
    tokens: int

    @property
    def role(self) -> str:
        return str(self.message["role"])


def expected_window(said: list[Said], max_messages: int, max_tokens: int | None) -> Expected:
    """Try every start from the earliest on; the last legal one where none fits."""
    last = Expected()
    for start in range(len(said)):
        if not _may_start(said, start):
            continue
        last = _window_from(said[start:])
        if len(last.seqs) <= max_messages and (max_tokens is None or last.tokens <= max_tokens):
            return last
    return last


def _may_start(said: list[Said], start: int) -> bool:
    if said[start].role == "tool":
        return False
    if said[start].role == "user" or not any(one.role == "user" for one in said):
        return True
    behind = [one.role for one in said[start + 1 :] if one.role != "tool"]
    return bool(said[start].message.get("proactive")) and behind[:1] == ["user"]


def _window_from(said: list[Said]) -> Expected:
    window = Expected()
    results: dict[tuple[int, int], Said] = {}
    for place, one in enumerate(said):
        if one.role != "tool":
            continue
        asked = [
            (caller, number)
            for caller in range(place)
            for number, call in enumerate(said[caller].message.get("tool_calls") or ())
            if call["id"] == one.message["tool_call_id"]
        ]
        # The newest message that still waits for it; within that, the first of equal ids.
        free = sorted((call for call in asked if call not in results), key=lambda call: (-call[0], call[1]))
        if free:
            results[free[0]] = one
        else:
            (window.repeats if asked else window.orphans).append(one.seq)
    for place, one in enumerate(said):
        if one.role == "tool":
            continue
        window.seqs.append(one.seq)
        window.tokens += one.tokens
        count = len(one.message.get("tool_calls") or ())
        came = sorted(
            (results[place, number] for number in range(count) if (place, number) in results),
            key=lambda found: found.seq,
        )
        window.seqs += [*(found.seq for found in came), *[None] * (count - len(came))]
        window.tokens += sum(found.tokens for found in came) + STAND_IN_TOKENS * (count - len(came))
    return window


def unconsolidated(said: list[Said], through: int) -> list[Said]:
    """What is not condensed, or the newest 8 if that is more, reaching back to a user turn."""
    if not any(one.seq <= through for one in said):
        return said
    start = max(0, len(said) - max(8, sum(one.seq > through for one in said)))
    users = [place for place in range(start + 1) if place < len(said) and said[place].role == "user"]
    return said[users[-1] if users else start :]
