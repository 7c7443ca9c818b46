import pytest

from bench.figures import Figures
from bench.rows import EMPTY, AtMost, P50Below, P99Below, RateAtLeast, RatioAtLeast, Row, Target, Verdict


def row(rate: float, *targets: Target, p99_ms: float = 10.0) -> Row:
    return Row(
        "append", "append", [Figures(rate, 1.0, p99_ms)], {EMPTY: [Figures(1000.0, 0.5, 1.0)]}, targets
    )


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (399.0, Verdict("≥ 0.4 of empty (aim 0.8)", "0.40", met=False, aim_met=False)),
        (400.0, Verdict("≥ 0.4 of empty (aim 0.8)", "0.40", met=True, aim_met=False)),
        (800.0, Verdict("≥ 0.4 of empty (aim 0.8)", "0.80", met=True, aim_met=True)),
    ],
)
def test_a_ratio_is_judged_by_its_least_and_its_aim(rate: float, expected: Verdict) -> None:
    assert row(rate, RatioAtLeast(0.4, aim=0.8)).verdicts == [expected]


def test_a_target_without_an_aim_says_nothing_of_one() -> None:
    assert row(950.0, RatioAtLeast(0.9)).verdicts == [
        Verdict("≥ 0.9 of empty", "0.95", met=True, aim_met=None)
    ]


@pytest.mark.parametrize(("p99", "met"), [(99.9, True), (100.0, False)])
def test_a_latency_has_to_stay_below(p99: float, met: bool) -> None:
    assert row(1.0, P99Below(100), p99_ms=p99).verdicts == [Verdict("p99 < 100 ms", f"{p99:.1f} ms", met=met)]


@pytest.mark.parametrize(("most", "met"), [(1.0, False), (1.1, True)])
def test_the_middle_has_to_stay_below(most: float, met: bool) -> None:
    assert row(1.0, P50Below(most)).verdicts == [Verdict(f"p50 < {most:g} ms", "1.0 ms", met=met)]


@pytest.mark.parametrize(("rate", "met"), [(332.9, False), (333.0, True)])
def test_a_rate_has_to_be_reached(rate: float, met: bool) -> None:
    assert row(rate, RateAtLeast(333)).verdicts == [Verdict("≥ 333/s", "333/s", met=met)]


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict("t", "0.30", met=False, aim_met=False), "**not met**: 0.30"),
        (Verdict("t", "0.50", met=True, aim_met=False), "met: 0.50"),
        (Verdict("t", "0.90", met=True, aim_met=True), "met, aim too: 0.90"),
    ],
)
def test_a_verdict_in_words(verdict: Verdict, words: str) -> None:
    assert verdict.words == words


def test_a_row_can_be_compared_with_another_one() -> None:
    other = Row(
        "a", "a", [Figures(90.0, 1, 1)], {"before": [Figures(100.0, 1, 1)]}, [RatioAtLeast(0.9, to="before")]
    )
    assert (other.ratio("before"), other.ratio()) == (0.9, None)
    assert [verdict.met for verdict in other.verdicts] == [True]


def test_what_is_no_time_is_judged_too() -> None:
    size = Row("size", "size of the index", [], targets=[AtMost("of the text", 1, 0.61)])
    assert size.figures is None
    assert size.verdicts == [Verdict("≤ 1 of the text", "0.61", met=True)]
    assert not Row("size", "size", [], targets=[AtMost("of the text", 1, 1.2)]).verdicts[0].met
