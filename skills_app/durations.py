"""Durations in classes that grow by a constant factor: counts of them add up, whatever was counted where.

A class is as wide as 2 % to either side of what stands for it, so that a median or p95 read off the counts is
within 2 % of a duration that was really measured at that rank; below a millisecond all are one class.
"""

import math
from collections.abc import Hashable, Mapping
from typing import TypeVar

ERROR = 0.02
GROWTH = (1 + ERROR) / (1 - ERROR)
SHORTEST_US = 1_000
_LOG_GROWTH = math.log(GROWTH)

Histogram = dict[str, int]
K = TypeVar("K", bound=Hashable)


def class_of(microseconds: int) -> str:
    if microseconds < SHORTEST_US:
        return "0"
    return str(1 + math.ceil(math.log(microseconds / SHORTEST_US) / _LOG_GROWTH))


def seconds_of(name: str) -> float:
    """What stands for a class: at most 2 % away from either end of it."""
    place = int(name)
    if place == 0:
        return 0.0
    upper = SHORTEST_US * GROWTH ** (place - 1)
    return 2 * upper / (GROWTH + 1) / 1e6


def add_to(counts: dict[K, int], other: Mapping[K, int], sign: int = 1) -> None:
    """With a negative sign they are taken away; what there is none of is not kept."""
    for name, count in other.items():
        if now := counts.get(name, 0) + sign * count:
            counts[name] = now
        else:
            counts.pop(name, None)


def quantile(histogram: Mapping[str, int], share: float) -> float | None:
    """The duration at a rank: at least that share of all are not longer."""
    total = sum(histogram.values())
    if not total:
        return None
    wanted, seen = max(1, math.ceil(total * share)), 0
    ordered = sorted(histogram, key=int)
    for name in ordered:
        seen += histogram[name]
        if seen >= wanted:
            return seconds_of(name)
    return seconds_of(ordered[-1])
