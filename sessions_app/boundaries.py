"""How far a conversation may be condensed: pure rules over light rows.

A boundary is the seq of the last message that is condensed. What follows it begins with a user message, and
no tool call stands on the other side of it than its result.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Said(NamedTuple):
    """One visible message that no summary covers yet."""

    seq: int
    role: str
    tokens: int
    calls: tuple[str, ...] = ()
    answers: str = ""


def before_newest_turn(said: Sequence[Said]) -> int | None:
    """Everything before the newest user turn; less where a tool's result came late. None: nothing."""
    allowed = _boundaries(said)
    return allowed[-1][0] if allowed else None


def by_budget(said: Sequence[Said], budget: int) -> int | None:
    """As little as leaves half of the budget; as much as there is where that is not enough."""
    total = sum(one.tokens for one in said)
    if total <= budget:
        return None
    allowed = _boundaries(said)
    enough = (boundary for boundary, condensed in allowed if total - condensed <= budget // 2)
    return next(enough, allowed[-1][0] if allowed else None)


def _boundaries(said: Sequence[Said]) -> list[tuple[int, int]]:
    """All that are allowed, oldest first, each with the tokens before it."""
    allowed: list[tuple[int, int]] = []
    ends = _ends(said)
    tokens, furthest = 0, -1
    for index, one in enumerate(said):
        if index and one.role == "user" and furthest < index:
            # What stands between the two, errors and decisions, goes with what is condensed.
            allowed.append((one.seq - 1, tokens))
        tokens += one.tokens
        furthest = max(furthest, ends.get(index, -1))
    return allowed


def _ends(said: Sequence[Said]) -> dict[int, int]:
    """By the place of a call, that of its last result; a call that nobody answered holds up nothing."""
    caller: dict[str, int] = {}
    ends: dict[int, int] = {}
    for index, one in enumerate(said):
        for call in one.calls:
            caller[call] = index
        if one.answers in caller:
            ends[caller[one.answers]] = index
    return ends
