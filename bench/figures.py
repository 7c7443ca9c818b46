"""Numbers of a measurement: what one round gave, what several rounds say together."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    rate: float
    p50_ms: float
    p99_ms: float


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of the values do not exceed."""
    if not ordered:
        raise ValueError("no values")
    # Whole hundredths keep 99 % of 100 values at the 99th: floating point would make it the 100th.
    position = -(-len(ordered) * round(percent * 100) // 10_000)
    return ordered[max(position, 1) - 1]


def figures_of(latencies: Sequence[float], seconds: float) -> Figures:
    """From latencies in seconds, measured over a span of `seconds`."""
    ordered = sorted(latencies)
    return Figures(len(ordered) / seconds, percentile(ordered, 50) * 1000, percentile(ordered, 99) * 1000)


def median_figures(rounds: Sequence[Figures]) -> Figures:
    return Figures(
        statistics.median(each.rate for each in rounds),
        statistics.median(each.p50_ms for each in rounds),
        statistics.median(each.p99_ms for each in rounds),
    )


def median_ratio(rounds: Sequence[Figures], beside: Sequence[Figures]) -> float:
    """The median of each round's own ratio: noise that hits both halves of a round cancels out."""
    return statistics.median(own.rate / other.rate for own, other in zip(rounds, beside, strict=True))
