"""Whatever was recorded, the window is legal, within its budgets, and as long as it can be."""

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app import providers
from sessions_app.entries import Entry, entry
from sessions_app.models import Message, Session
from sessions_app.providers import Source
from sessions_app.window import Turn, Window, choose, keep, plain_start
from tests.conftest import Api
from tests.sessions.conversations import CONVERSATIONS, JSON, MESSAGES, RECORDS
from tests.sessions.rules import (
    Said,
    accepted_by_anthropic,
    accepted_by_openai,
    expected_window,
    unconsolidated,
)

NOW = datetime(2026, 5, 1, 10, tzinfo=UTC)
BUDGETS = st.integers(1, 30)
TOKENS = st.none() | st.integers(1, 400)
CLOCKS = st.sampled_from([None, ZoneInfo("Asia/Tokyo")])


def stored(message: JSON) -> Entry:
    return entry(message, now=NOW, zone=ZoneInfo("UTC"))


def said(conversation: list[JSON]) -> list[Said]:
    return [Said(seq, message, stored(message).tokens) for seq, message in enumerate(conversation, 1)]


def turns(conversation: list[JSON]) -> list[Turn]:
    return [
        Turn(
            one.seq,
            one.role,
            one.tokens,
            tuple(call["id"] for call in one.message.get("tool_calls", ())),
            one.message.get("tool_call_id", ""),
            one.message.get("proactive", False),
        )
        for one in said(conversation)
    ]


def sources(conversation: list[JSON]) -> list[Source]:
    return [
        Source(
            seq,
            None,
            orjson.loads(stored(message).body),
            message.get("media", ()),
            message.get("proactive", False),
            NOW,
        )
        for seq, message in enumerate(conversation, 1)
    ]


def seqs(window: Window) -> list[int | None]:
    return [None if one.place is None else one.place + 1 for one in window.placed]


def sent(value: Any) -> Any:
    """As it goes over the wire."""
    return orjson.loads(orjson.dumps(value))


@given(CONVERSATIONS, BUDGETS, TOKENS)
@settings(max_examples=500, deadline=None)
def test_the_window_is_the_one_that_trying_every_start_finds(
    conversation: list[JSON], max_messages: int, max_tokens: int | None
) -> None:
    window = choose(turns(conversation), max_messages, max_tokens)
    expected = expected_window(said(conversation), max_messages, max_tokens)
    assert seqs(window) == expected.seqs
    assert window.tokens == expected.tokens
    assert [place + 1 for place in window.orphans] == expected.orphans
    assert [place + 1 for place in window.repeats] == expected.repeats


@given(CONVERSATIONS, BUDGETS, TOKENS, CLOCKS)
@settings(max_examples=400, deadline=None)
def test_openai_accepts_every_window(
    conversation: list[JSON], max_messages: int, max_tokens: int | None, clock: ZoneInfo | None
) -> None:
    window = choose(turns(conversation), max_messages, max_tokens)
    accepted_by_openai(sent(providers.openai(window, sources(conversation), clock)))


@given(CONVERSATIONS, BUDGETS, TOKENS, CLOCKS)
@settings(max_examples=400, deadline=None)
def test_anthropic_accepts_every_window(
    conversation: list[JSON], max_messages: int, max_tokens: int | None, clock: ZoneInfo | None
) -> None:
    window = choose(turns(conversation), max_messages, max_tokens)
    system, messages = providers.anthropic(window, sources(conversation), clock)
    accepted_by_anthropic(system, sent(messages))


@given(CONVERSATIONS, BUDGETS, TOKENS)
@settings(max_examples=200, deadline=None)
def test_a_window_over_its_budget_is_the_newest_turn_alone(
    conversation: list[JSON], max_messages: int, max_tokens: int | None
) -> None:
    window = choose(turns(conversation), max_messages, max_tokens)
    if len(window.placed) <= max_messages and (max_tokens is None or window.tokens <= max_tokens):
        return
    roles = [message["role"] for message in conversation]
    beginnings = "user" if "user" in roles else {"user", "assistant", "system"}
    assert window.from_index == max(place for place, role in enumerate(roles) if role in beginnings)


@given(CONVERSATIONS, BUDGETS, TOKENS)
@settings(max_examples=200, deadline=None)
def test_nothing_of_the_window_is_lost_but_results_without_a_call(
    conversation: list[JSON], max_messages: int, max_tokens: int | None
) -> None:
    window = choose(turns(conversation), max_messages, max_tokens)
    if window.from_index is None:
        assert all(message["role"] == "tool" for message in conversation)
        return
    shown = [one.place for one in window.placed if one.place is not None]
    assert sorted([*shown, *window.orphans, *window.repeats]) == [
        *range(window.from_index, len(conversation))
    ]
    spoken = [place for place in shown if conversation[place]["role"] != "tool"]
    assert all(earlier < later for earlier, later in pairwise(spoken))
    assert all(conversation[place]["role"] == "tool" for place in (*window.orphans, *window.repeats))


@given(CONVERSATIONS, CONVERSATIONS, BUDGETS, TOKENS)
@settings(max_examples=200, deadline=None)
def test_what_lies_before_the_window_makes_no_difference_to_it(
    before: list[JSON], conversation: list[JSON], max_messages: int, max_tokens: int | None
) -> None:
    everything = choose(turns(before + conversation), max_messages, max_tokens)
    if everything.from_index is None:
        return
    start = everything.from_index
    alone = choose(turns(before + conversation)[start:], max_messages, max_tokens)
    assert [None if one.place is None else one.place + start for one in alone.placed] == [
        one.place for one in everything.placed
    ]
    assert [place + start for place in alone.repeats] == [*everything.repeats]
    assert [place + start for place in alone.orphans] == [*everything.orphans]


PLAIN = MESSAGES.filter(lambda message: stored(message).plain)


@given(st.lists(PLAIN, min_size=1, max_size=20), BUDGETS, TOKENS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_the_short_way_for_plain_messages_finds_the_same_start(
    conversation: list[JSON], max_messages: int, max_tokens: int | None
) -> None:
    given_turns = turns(conversation)
    roles, tokens = [turn.role for turn in given_turns], [turn.tokens for turn in given_turns]
    window = choose(given_turns, max_messages, max_tokens)
    assert plain_start(roles, tokens, max_messages, max_tokens) == window.from_index


@given(CONVERSATIONS, BUDGETS)
@settings(max_examples=200, deadline=None)
def test_what_is_retained_is_the_longest_suffix_that_may_stand_alone(
    conversation: list[JSON], most: int
) -> None:
    newest = said(conversation)[-most:]
    windows = [
        one.seq - 1
        for place, one in enumerate(newest)
        if expected_window(newest[place:], 1000, None).seqs[:1] == [one.seq]
        and expected_window(newest, 1000, None).seqs[:1] == [one.seq]
    ]
    assert keep(turns(conversation), most) == (min(windows) if windows else None)


@given(
    RECORDS,
    st.data(),
    st.integers(1, 20),
    TOKENS,
)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_over_http_the_window_is_the_same_with_hidden_rows_and_consolidated_ones(
    api: Api, record: list[JSON], data: st.DataObject, max_messages: int, max_tokens: int | None
) -> None:
    session_id = api.open(f"telegram:{Session.objects.count()}")
    api.append(session_id, *record)
    hidden = data.draw(st.sets(st.integers(1, len(record)), max_size=3))
    through = data.draw(st.integers(0, len(record)))
    Message.objects.filter(session__uid=session_id, seq__in=hidden).update(hidden_by="rewind")
    Session.objects.filter(uid=session_id).update(consolidated_through=through, summary="so far")
    visible = [
        Said(seq, message, stored(message).tokens)
        for seq, message in enumerate(record, 1)
        if "role" in message and seq not in hidden
    ]
    expected = expected_window(unconsolidated(visible, through), max_messages, max_tokens)
    query = f"?max_messages={max_messages}" + ("" if max_tokens is None else f"&max_tokens={max_tokens}")

    raw = api.window(session_id, f"{query}&format=raw")
    assert [message["seq"] for message in raw["messages"]] == expected.seqs
    openai = api.window(session_id, query)
    accepted_by_openai(openai["messages"])
    assert len(openai["messages"]) == len(expected.seqs)
    anthropic = api.window(session_id, f"{query}&format=anthropic&timestamps=false")
    accepted_by_anthropic(anthropic["system"], anthropic["messages"])
    numbers = [seq for seq in expected.seqs if seq is not None]
    for answer in (raw, openai, anthropic):
        assert answer["summary"] == "so far"
        assert answer["tokens"] == expected.tokens
        assert (answer["from_seq"], answer["to_seq"]) == (
            min(numbers, default=None),
            max(numbers, default=None),
        )
        assert answer["left_out"] == {
            "orphan_results": expected.orphans,
            "repeated_results": expected.repeats,
            "stand_ins": expected.seqs.count(None),
        }
