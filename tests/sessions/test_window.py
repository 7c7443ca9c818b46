"""The rules by example: which seqs stand in a window, in which order. None is a stand-in for a result."""

import pytest

from sessions_app.tokens import estimate_message
from sessions_app.window import STAND_IN, STAND_IN_TOKENS, Turn, Window, choose, keep

U, A, S = "user", "assistant", "system"


def conversation(*given: str | tuple[str, ...]) -> list[Turn]:
    """`user`, `assistant`, `system`, `unasked`; `("calls", "a", "b")`; `("result", "a")`. 10 tokens each."""
    turns = []
    for seq, one in enumerate(given, 1):
        kind, *ids = (one,) if isinstance(one, str) else one
        if kind == "calls":
            turns.append(Turn(seq, "assistant", 10, calls=tuple(ids)))
        elif kind == "result":
            turns.append(Turn(seq, "tool", 10, answers=ids[0]))
        elif kind == "unasked":
            turns.append(Turn(seq, "assistant", 10, proactive=True))
        else:
            turns.append(Turn(seq, kind, 10))
    return turns


def seqs(window: Window) -> list[int | None]:
    return [None if one.place is None else one.place + 1 for one in window.placed]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param([U, A, U, A], [1, 2, 3, 4], id="a plain conversation is whole"),
        pytest.param([], [], id="nothing is empty"),
        pytest.param([("result", "a")], [], id="a lone result is empty"),
        pytest.param([A, S, U, A], [3, 4], id="it starts at the first user message"),
        pytest.param([A, S, A], [1, 2, 3], id="without a user message it starts anywhere"),
        pytest.param(["unasked", U, A], [1, 2, 3], id="a delivery right before it starts it"),
        pytest.param(["unasked", A, U], [3], id="a delivery further before does not"),
        pytest.param(["unasked", "unasked", U], [2, 3], id="only one delivery starts it"),
        pytest.param([U, S, A], [1, 2, 3], id="system messages stay in their place"),
        pytest.param(
            [U, ("calls", "a", "b"), ("result", "b"), ("result", "a"), A],
            [1, 2, 3, 4, 5],
            id="parallel results stand in the order they came",
        ),
        pytest.param([U, ("calls", "a"), U, A], [1, 2, None, 3, 4], id="a missing result gets a stand-in"),
        pytest.param(
            [U, ("calls", "a", "b"), U, ("result", "b")],
            [1, 2, 4, None, 3],
            id="stand-ins come last",
        ),
        pytest.param(
            [U, ("calls", "a"), U, A, ("result", "a"), A],
            [1, 2, 5, 3, 4, 6],
            id="a late result moves up to its call",
        ),
        pytest.param([U, A, ("result", "x"), U, A], [1, 2, 4, 5], id="an orphan costs only itself"),
        pytest.param(
            [U, ("calls", "a"), ("result", "a"), ("result", "a"), A], [1, 2, 3, 5], id="a repeat is left out"
        ),
        pytest.param(
            [U, ("result", "a"), ("calls", "a"), A],
            [1, 3, None, 4],
            id="a result before its call is none",
        ),
        pytest.param(
            [U, ("calls", "a"), ("calls", "a"), ("result", "a"), ("result", "a")],
            [1, 2, 5, 3, 4],
            id="an id used twice is answered newest first",
        ),
    ],
)
def test_what_stands_in_the_window(given: list[str | tuple[str, ...]], expected: list[int | None]) -> None:
    assert seqs(choose(conversation(*given), 500, None)) == expected


TWO_TURNS = (U, A, U, ("calls", "a", "b"), ("result", "a"), A)
"""The second turn is five messages long: the missing result of `b` has a stand-in."""


@pytest.mark.parametrize(
    ("max_messages", "expected"),
    [(500, 1), (7, 1), (6, 3), (5, 3), (4, 3), (1, 3)],
)
def test_messages_are_counted_with_stand_ins(max_messages: int, expected: int) -> None:
    window = choose(conversation(*TWO_TURNS), max_messages, None)
    assert seqs(window)[0] == expected
    assert seqs(window)[-5:] == [3, 4, 5, None, 6]


@pytest.mark.parametrize(("max_tokens", "expected"), [(77, 1), (76, 3), (57, 3), (56, 3), (1, 3)])
def test_tokens_are_counted_with_stand_ins(max_tokens: int, expected: int) -> None:
    window = choose(conversation(*TWO_TURNS), 500, max_tokens)
    assert seqs(window)[0] == expected
    assert window.tokens == {1: 60 + 17, 3: 40 + 17}[expected]


def test_a_delivery_is_left_out_where_only_the_turn_behind_it_fits() -> None:
    assert seqs(choose(conversation("unasked", U, A), 2, None)) == [2, 3]


def test_a_turn_over_the_budget_comes_without_the_delivery_before_it() -> None:
    assert seqs(choose(conversation("unasked", U, A, A), 1, None)) == [2, 3, 4]


def test_a_stand_in_is_counted_as_what_it_costs() -> None:
    assert estimate_message({"role": "tool", "tool_call_id": "a", "content": STAND_IN}) == STAND_IN_TOKENS


def test_what_is_left_out_is_named() -> None:
    window = choose(
        conversation(
            ("calls", "old"), U, ("result", "old"), ("calls", "a"), ("result", "a"), ("result", "a")
        ),
        500,
        None,
    )
    assert seqs(window) == [2, 4, 5]
    assert [place + 1 for place in window.orphans] == [3]
    assert [place + 1 for place in window.repeats] == [6]


def test_an_id_that_comes_again_gets_a_name_of_its_own() -> None:
    window = choose(
        conversation(U, ("calls", "a", "a"), ("result", "a"), ("calls", "a"), ("result", "a")), 9, None
    )
    assert [one.calls for one in window.placed if one.calls] == [("a", "a-2"), ("a-4",)]
    assert [one.answers for one in window.placed if one.answers] == ["a", "a-2", "a-4"]
    assert seqs(window) == [1, 2, 3, None, 4, 5]


@pytest.mark.parametrize(
    ("given", "most", "expected"),
    [
        pytest.param([U, A, U, A], 3, 3, id="it starts at a user message"),
        pytest.param([U, A, U, A], 4, 1, id="all of them fit"),
        pytest.param([U, A, "unasked", U, A], 4, 3, id="or at a delivery right before it"),
        pytest.param([U, ("calls", "a"), ("result", "a"), A], 2, 4, id="not at a result cut from its call"),
        pytest.param([U, ("calls", "a", "b"), ("result", "a"), ("result", "b")], 2, None, id="nothing fits"),
    ],
)
def test_what_is_retained(given: list[str | tuple[str, ...]], most: int, expected: int | None) -> None:
    start = keep(conversation(*given), most)
    assert (None if start is None else start + 1) == expected
