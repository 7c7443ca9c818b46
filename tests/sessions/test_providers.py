"""One message or two in the form of each provider, by hand."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest

from sessions_app import providers
from sessions_app.providers import Source
from sessions_app.window import Turn, choose
from tests.sessions.conversations import JSON, PICTURE, assistant, called, calls, result, user

HTTP = "https://example.org/cat.png"
BASE64 = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "s"}


def in_form(form: str, *messages: JSON, clock: ZoneInfo | None = None) -> Any:
    turns = [
        Turn(
            seq,
            message["role"],
            1,
            tuple(call["id"] for call in message.get("tool_calls", ())),
            message.get("tool_call_id", ""),
            message.get("proactive", False),
        )
        for seq, message in enumerate(messages, 1)
    ]
    sources = [
        Source(
            turn.seq,
            None,
            message,
            message.get("media", ()),
            turn.proactive,
            datetime(2026, 1, 1, tzinfo=UTC),
        )
        for turn, message in zip(turns, messages, strict=True)
    ]
    window = choose(turns, 500, None)
    return orjson.loads(orjson.dumps(getattr(providers, form)(window, sources, clock)))


def blocks(role: str, *content: JSON) -> JSON:
    answers = {"tool_call_id": "a"} if role == "tool" else {}
    return {"role": role, "content": list(content), **answers}


def text(value: str) -> JSON:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("role", "given", "openai", "anthropic"),
    [
        ("user", text("hi"), text("hi"), text("hi")),
        ("user", {"type": "input_text", "text": "hi"}, text("hi"), text("hi")),
        (
            "user",
            {"type": "image_url", "image_url": {"url": HTTP}},
            {"type": "image_url", "image_url": {"url": HTTP}},
            {"type": "image", "source": {"type": "url", "url": HTTP}},
        ),
        (
            "user",
            {"type": "image", "source": BASE64},
            {"type": "image_url", "image_url": {"url": PICTURE}},
            {"type": "image", "source": BASE64},
        ),
        (
            "user",
            {"type": "image_url", "image_url": {"url": "/pix/a.png"}},
            text("[image: /pix/a.png]"),
            text("[image: /pix/a.png]"),
        ),
        ("assistant", {"type": "image", "source": BASE64}, text("[image]"), text("[image]")),
        (
            "tool",
            {"type": "image", "source": {"type": "url", "url": HTTP}},
            text(f"[image: {HTTP}]"),
            {"type": "image", "source": {"type": "url", "url": HTTP}},
        ),
        ("user", {"type": "odd", "n": 1}, text('{"type":"odd","n":1}'), text('{"type":"odd","n":1}')),
    ],
)
def test_a_block(role: str, given: JSON, openai: JSON, anthropic: JSON) -> None:
    before = [user(), calls("a")] if role == "tool" else [user()]
    said = [*before, blocks(role, given)]
    assert in_form("openai", *said)[-1]["content"] == [openai]
    last = in_form("anthropic", *said)[1][-1]["content"][-1]
    assert (last["content"] == [anthropic]) if role == "tool" else (last == anthropic)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("ana", "ana"),
        ("Ana María Lopes", "Ana_María_Lopes"),
        ("<b>/a|c\\", "b_a_c"),
        (" ", "unnamed"),
        ("x" * 65, "x" * 64),
    ],
)
def test_a_name_has_no_signs_that_openai_refuses(given: str, sent: str) -> None:
    assert in_form("openai", {**user(), "name": given})[0]["name"] == sent


def test_an_empty_name_is_none() -> None:
    assert in_form("openai", {**user(), "name": ""}) == [user()]


def test_thoughts_go_back_only_signed_and_only_where_they_came_from() -> None:
    said = [user(), blocks("assistant", SIGNED, {"type": "thinking", "thinking": "hm"}, text("so"))]
    assert in_form("anthropic", *said)[1][1]["content"] == [SIGNED, text("so")]
    assert in_form("openai", *said)[1]["content"] == [text("so")]


def test_nothing_said_is_an_empty_text_for_openai() -> None:
    said = [blocks("user"), blocks("assistant", text(" ")), user("")]
    assert [message["content"] for message in in_form("openai", *said)] == ["", "", ""]


def test_nothing_said_is_never_an_empty_block_for_anthropic() -> None:
    said = [user(""), assistant(""), user("x"), assistant(" ")]
    assert in_form("anthropic", *said) == [
        None,
        [{"role": "user", "content": [text("[empty message]"), text("x")]}],
    ]


def test_an_empty_result_is_a_result_without_content() -> None:
    _, messages = in_form("anthropic", user(), calls("a"), result("a", ""))
    assert messages[2] == {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}


def test_a_conversation_that_the_assistant_starts_gets_a_user_turn_before_it() -> None:
    _, messages = in_form("anthropic", assistant("Rain.", proactive=True), user("ok"))
    assert messages == [
        {
            "role": "user",
            "content": [text("[The conversation starts with a message that nobody asked for.]")],
        },
        {"role": "assistant", "content": [text("Rain.")]},
        {"role": "user", "content": [text("ok")]},
    ]


def test_system_texts_are_joined_and_blank_ones_left_out() -> None:
    system = [{"role": "system", "content": content} for content in ("One.", " ", [text("Two.")])]
    assert in_form("anthropic", user(), *system)[0] == "One.\n\nTwo."
    assert in_form("anthropic", user(), system[1])[0] is None


def test_ids_that_differ_only_in_refused_signs_stay_different() -> None:
    _, messages = in_form("anthropic", user(), calls("a:1", "a.1"), result("a.1"), result("a:1"))
    assert [block["id"] for block in messages[1]["content"]] == ["a_1", "a_1_"]
    assert [block["tool_use_id"] for block in messages[2]["content"]] == ["a_1_", "a_1"]


@pytest.mark.parametrize(
    ("arguments", "openai", "anthropic"),
    [
        ('{"q": 1}', '{"q": 1}', {"q": 1}),
        ({"q": 1}, '{"q":1}', {"q": 1}),
        (None, "{}", {}),
        ("[1]", "[1]", {"arguments": [1]}),
        ("not json", "not json", {"arguments": "not json"}),
    ],
)
def test_arguments(arguments: Any, openai: str, anthropic: JSON) -> None:
    said = [user(), {"role": "assistant", "tool_calls": [called("a", arguments, "files.read")]}]
    assert in_form("openai", *said)[1]["tool_calls"] == [called("a", openai, "files.read")]
    (use,) = in_form("anthropic", *said)[1][1]["content"]
    assert use == {"type": "tool_use", "id": "a", "name": "files_read", "input": anthropic}


def test_times_are_told_in_the_zone_that_is_asked_for() -> None:
    (message,) = in_form("openai", user(), clock=ZoneInfo("Asia/Tokyo"))
    assert message["content"] == "[Message Time: 2026-01-01T09:00:00+09:00]\nhello"
