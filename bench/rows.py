"""A row of the result: what was measured, what stood beside it, what it has to reach and whether it did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.figures import Figures, median_figures, median_ratio

EMPTY = "empty"


@dataclass(frozen=True)
class RatioAtLeast:
    least: float
    to: str = EMPTY
    aim: float | None = None


@dataclass(frozen=True)
class P50Below:
    milliseconds: float


@dataclass(frozen=True)
class P99Below:
    milliseconds: float


@dataclass(frozen=True)
class RateAtLeast:
    per_second: float


@dataclass(frozen=True)
class AtMost:
    """Of something that is no time: what it is, and what was found."""

    what: str
    most: float
    found: float


@dataclass(frozen=True)
class ShareAtLeast:
    """Of answers that were right."""

    name: str
    share: float
    least: float


Target = RatioAtLeast | P50Below | P99Below | RateAtLeast | AtMost | ShareAtLeast


@dataclass(frozen=True)
class Verdict:
    target: str
    reached: str
    met: bool
    aim_met: bool | None = None

    @property
    def words(self) -> str:
        if not self.met:
            return f"**not met**: {self.reached}"
        return f"met, aim too: {self.reached}" if self.aim_met else f"met: {self.reached}"


@dataclass(frozen=True)
class Row:
    """`beside` holds, under the name a target uses, what was measured in the same rounds."""

    name: str
    title: str
    rounds: Sequence[Figures]
    beside: Mapping[str, Sequence[Figures]] = field(default_factory=dict)
    targets: Sequence[Target] = ()

    @property
    def figures(self) -> Figures | None:
        """None where no time was taken, only something else looked at."""
        return median_figures(self.rounds) if self.rounds else None

    def ratio(self, to: str = EMPTY) -> float | None:
        return median_ratio(self.rounds, self.beside[to]) if to in self.beside else None

    @property
    def verdicts(self) -> list[Verdict]:
        return [self._judge(target) for target in self.targets]

    def _judge(self, target: Target) -> Verdict:
        if isinstance(target, AtMost):
            met = target.found <= target.most
            return Verdict(f"≤ {target.most:g} {target.what}", f"{target.found:.2f}", met)
        figures = median_figures(self.rounds)
        if isinstance(target, P50Below):
            return _below("p50", figures.p50_ms, target.milliseconds)
        if isinstance(target, P99Below):
            return _below("p99", figures.p99_ms, target.milliseconds)
        if isinstance(target, RateAtLeast):
            rate = figures.rate
            return Verdict(f"≥ {target.per_second:.0f}/s", f"{rate:.0f}/s", rate >= target.per_second)
        if isinstance(target, ShareAtLeast):
            reached = f"{target.share:.1%} {target.name}"
            return Verdict(f"≥ {target.least:.0%} {target.name}", reached, target.share >= target.least)
        ratio = median_ratio(self.rounds, self.beside[target.to])
        aim = f" (aim {target.aim:g})" if target.aim else ""
        return Verdict(
            f"≥ {target.least:g} of {target.to}{aim}",
            f"{ratio:.2f}",
            ratio >= target.least,
            ratio >= target.aim if target.aim else None,
        )


def _below(name: str, found: float, most: float) -> Verdict:
    return Verdict(f"{name} < {most:g} ms", f"{found:.1f} ms", found < most)
