"""The few statistics that the analyses use, each stated where it is shown. Pure."""

import math
from collections.abc import Sequence

# Two-sided at 5 %, and what is called out of the ordinary.
Z95 = 1.959963984540054
UNUSUAL = 3.0


def wilson(successes: int, total: int, z: float = Z95) -> tuple[float, float]:
    """The interval in percent with the true rate in 95 of 100 cases; 0 to 100 where nothing is known."""
    if total == 0:
        return 0.0, 100.0
    rate, square = successes / total, z * z
    centre = rate + square / (2 * total)
    width = z * math.sqrt(rate * (1 - rate) / total + square / (4 * total * total))
    low, high = (centre - width) / (1 + square / total), (centre + width) / (1 + square / total)
    return 100 * max(0.0, low), 100 * min(1.0, high)


def rate_trend(days: Sequence[tuple[int, int, int]]) -> float | None:
    """Cochran-Armitage: (day number, successes, total) of each day; the z of a rate that moves with time.

    None where it cannot be told: everything or nothing worked, or all on one day."""
    total = sum(n for _, _, n in days)
    rate = sum(k for _, k, _ in days) / total if total else 0.0
    mean = sum(day * n for day, _, n in days) / total if total else 0.0
    spread = sum(n * (day - mean) ** 2 for day, _, n in days)
    if spread * rate * (1 - rate) == 0:
        return None
    return sum((k - n * rate) * (day - mean) for day, k, n in days) / math.sqrt(rate * (1 - rate) * spread)


def volume_trend(counts: Sequence[int]) -> float | None:
    """Laplace: of uses that fall on days 0, 1, 2 … by chance alone the mean day lies in the middle."""
    total, days = sum(counts), len(counts)
    if total == 0 or days < 2:
        return None
    mean = sum(day * count for day, count in enumerate(counts)) / total
    return (mean - (days - 1) / 2) / math.sqrt((days * days - 1) / 12 / total)


def rate_differs(successes: int, total: int, before: int, of: int) -> float | None:
    """The z of two rates that should be one."""
    if total == 0 or of == 0:
        return None
    rate = (successes + before) / (total + of)
    if rate in (0, 1):
        return None
    return (successes / total - before / of) / math.sqrt(rate * (1 - rate) * (1 / total + 1 / of))


def count_differs(count: int, before: Sequence[int]) -> float | None:
    """How many spreads a day lies from the days before it; counts spread by their root at least."""
    if not before:
        return None
    mean = sum(before) / len(before)
    spread = sum((each - mean) ** 2 for each in before) / len(before)
    return (count - mean) / math.sqrt(max(spread, mean, 1.0))


def p_value(z: float) -> float:
    return math.erfc(abs(z) / math.sqrt(2))


def verdict(z: float | None, up: str, down: str) -> str:
    if z is None or abs(z) < Z95:
        return "steady"
    return up if z > 0 else down
