"""What of a conversation can be sent to a model provider: pure rules over light rows.

A window is always legal, whatever was stored. Callers give the newest messages, oldest first, and get back a
plan: which of them stand in the window, in which order, with which stand-ins.
"""

from collections import deque
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

STAND_IN = "[The result of this tool call is not available.]"
STAND_IN_TOKENS = 17


class Turn(NamedTuple):
    """One message as the rules see it."""

    seq: int
    role: str
    tokens: int
    calls: tuple[str, ...] = ()
    answers: str = ""
    proactive: bool = False


class Placed(NamedTuple):
    """A message of the window by its place among the turns, or (without one) a stand-in for a result.

    `calls` and `answers` are the ids in this window: one that is used again gets a name of its own.
    """

    place: int | None
    calls: tuple[str, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    placed: tuple[Placed, ...] = ()
    tokens: int = 0
    from_index: int | None = None
    # Results that answer no call of the window, and further results for a call that has one: left out.
    orphans: tuple[int, ...] = ()
    repeats: tuple[int, ...] = ()


@dataclass(slots=True)
class _Call:
    """One call of one message; ids may come again later in a conversation."""

    caller: int
    result: int | None = None


# By the place of the message that calls.
_Pairs = dict[int, list[_Call]]


def choose(turns: Sequence[Turn], max_messages: int, max_tokens: int | None) -> Window:
    """The longest legal suffix within both budgets; the newest turn alone and whole where even it is over."""
    pairs = _pair(turns)
    start: int | None = None
    count = tokens = 0
    for candidate, added_count, added_tokens in _suffixes(turns, pairs):
        count, tokens = count + added_count, tokens + added_tokens
        fits = count <= max_messages and (max_tokens is None or tokens <= max_tokens)
        if start is None or fits:
            start = candidate
        if not fits:
            break
    return Window() if start is None else _laid_out(turns, pairs, start)


def plain_start(
    roles: Sequence[str], tokens: Sequence[int], max_messages: int, max_tokens: int | None
) -> int:
    """Where `choose` starts its window if no message calls a tool, answers one or was delivered unasked."""
    has_user = "user" in roles
    start: int | None = None
    total = 0
    for index in range(len(roles) - 1, -1, -1):
        total += tokens[index]
        if has_user and roles[index] != "user":
            continue
        fits = len(roles) - index <= max_messages and (max_tokens is None or total <= max_tokens)
        if start is None or fits:
            start = index
        if not fits:
            break
    return start or 0


def keep(turns: Sequence[Turn], most: int) -> int | None:
    """Where the newest legal suffix of at most `most` stored messages starts; None where nothing fits.

    It starts where a window may, and so never at a result that is cut from its call.
    """
    cut = max(0, len(turns) - most)
    return min((cut + index for index in _starts(turns[cut:])), default=None)


def _suffixes(turns: Sequence[Turn], pairs: _Pairs) -> Iterator[tuple[int, int, int]]:
    """Each place where a window may start, newest first, with what starting there adds."""
    starts = set(_starts(turns))
    count = tokens = 0
    for index in range(len(turns) - 1, -1, -1):
        if turns[index].role != "tool":
            calls = pairs.get(index, ())
            count += 1 + len(calls)
            tokens += turns[index].tokens + sum(_result_tokens(turns, call) for call in calls)
        if index in starts:
            yield index, count, tokens
            count = tokens = 0


def _starts(turns: Sequence[Turn]) -> Iterator[int]:
    """At a user message or a delivery right before it; where nobody said anything, at all but results."""
    has_user = any(turn.role == "user" for turn in turns)
    next_role = ""
    for index in range(len(turns) - 1, -1, -1):
        turn = turns[index]
        # A late result between the two moves up to its call, so it does not count.
        if turn.role == "tool":
            continue
        if not has_user or turn.role == "user" or (turn.proactive and next_role == "user"):
            yield index
        next_role = turn.role


def _result_tokens(turns: Sequence[Turn], call: _Call) -> int:
    return STAND_IN_TOKENS if call.result is None else turns[call.result].tokens


def _pair(turns: Sequence[Turn]) -> _Pairs:
    """Match results with calls. Like brackets: what a later start leaves out changes no pair behind it."""
    pairs: _Pairs = {}
    unanswered: dict[str, list[deque[_Call]]] = {}
    for index, turn in enumerate(turns):
        if turn.calls:
            pairs[index] = made = [_Call(index) for _ in turn.calls]
            for call_id, call in zip(turn.calls, made, strict=True):
                groups = unanswered.setdefault(call_id, [])
                if not groups or groups[-1][0].caller != index:
                    groups.append(deque())
                groups[-1].append(call)
        elif turn.role == "tool" and (groups := unanswered.get(turn.answers, [])):
            groups[-1].popleft().result = index
            if not groups[-1]:
                groups.pop()
    return pairs


def _laid_out(turns: Sequence[Turn], pairs: _Pairs, start: int) -> Window:
    placed: list[Placed] = []
    tokens = 0
    taken: set[str] = set()
    for index in range(start, len(turns)):
        turn = turns[index]
        if turn.role == "tool":
            continue
        ids = _own_ids(turn, taken)
        placed.append(Placed(index, calls=ids))
        tokens += turn.tokens
        # In the order in which they came; those that never came last.
        for call_id, call in sorted(zip(ids, pairs.get(index, ()), strict=True), key=_arrival):
            placed.append(Placed(call.result, answers=call_id))
            tokens += _result_tokens(turns, call)
    orphans, repeats = _left_out(turns, start, {one.place for one in placed})
    return Window(tuple(placed), tokens, start, orphans, repeats)


def _left_out(
    turns: Sequence[Turn], start: int, kept: Set[int | None]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """By the window alone: what lies before it, and may not have been read, makes no difference."""
    orphans: list[int] = []
    repeats: list[int] = []
    called: set[str] = set()
    for index in range(start, len(turns)):
        called.update(turns[index].calls)
        if index not in kept:
            (repeats if turns[index].answers in called else orphans).append(index)
    return tuple(orphans), tuple(repeats)


def _arrival(pair: tuple[str, _Call]) -> tuple[bool, int]:
    result = pair[1].result
    return (result is None, result or 0)


def _own_ids(turn: Turn, taken: set[str]) -> tuple[str, ...]:
    ids = []
    for call_id in turn.calls:
        own, number = call_id, 1
        while own in taken:
            own = f"{call_id}-{turn.seq}" if number == 1 else f"{call_id}-{turn.seq}-{number}"
            number += 1
        taken.add(own)
        ids.append(own)
    return tuple(ids)
