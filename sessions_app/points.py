"""A summary as points: who said what, where it stands in the record, how much it weighs.

Points are made once, out of what was really said. Later summaries keep some of them and drop others; none is
ever condensed again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sessions_app.tokens import estimate

# In tokens, of a whole session's summary.
MOST_TOKENS = 1000
LEAST_TOKENS = 160
# Of what is condensed: a summary that is nearly as long as its subject is none.
SHARE = 0.45
# What was kept before weighs less each time, so that room is made for what is new.
FADING = 0.85


@dataclass(frozen=True, slots=True)
class Point:
    seq: int
    # "User", "Assistant", "Error", …; empty for a line of an earlier summary.
    label: str
    text: str
    weight: float

    @property
    def line(self) -> str:
        return f"- {self.label}: {self.text}" if self.label else f"- {self.text}"


def room(tokens: int) -> int:
    """How long a summary of so many tokens may be."""
    return min(MOST_TOKENS, max(LEAST_TOKENS, int(tokens * SHARE)))


def merged(earlier: Sequence[Point], new: Sequence[Point], most: int) -> list[Point]:
    """The weightiest that fit, in the order of the record, which is the one that they come in."""
    points = [*(replace(point, weight=point.weight * FADING) for point in earlier), *new]
    kept: list[int] = []
    left = most
    for place in sorted(range(len(points)), key=lambda place: (-points[place].weight, -place)):
        if (cost := estimate(points[place].line) + 1) <= left:
            kept.append(place)
            left -= cost
    return [points[place] for place in sorted(kept)]


def settled(points: Iterable[Point], mark: str) -> list[Point]:
    return [replace(point, label=point.label.removesuffix(mark)) for point in points]


def written(points: Iterable[Point]) -> str:
    return "\n".join(point.line for point in points)


def from_text(summary: str, seq: int, weight: float = 2.0) -> list[Point]:
    """The lines of a summary that was written otherwise, so that they can stand among points."""
    lines = (line.strip().removeprefix("- ").removeprefix("* ").strip() for line in summary.splitlines())
    return [Point(seq, "", line, weight) for line in lines if line]


def stored(points: Sequence[Point]) -> list[dict[str, Any]]:
    return [{**asdict(point), "weight": round(point.weight, 4)} for point in points]


def loaded(rows: Iterable[dict[str, Any]]) -> list[Point]:
    return [Point(**row) for row in rows]
