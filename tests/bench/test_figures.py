import pytest

from bench.figures import Figures, figures_of, median_figures, median_ratio, percentile


@pytest.mark.parametrize(
    ("count", "percent", "expected"),
    [
        (1, 50, 1),
        (1, 99, 1),
        (2, 50, 1),
        (3, 50, 2),
        (100, 50, 50),
        (100, 99, 99),
        (101, 99, 100),
        (1000, 99, 990),
    ],
)
def test_a_percentile_is_the_smallest_value_that_covers_its_part(
    count: int, percent: float, expected: int
) -> None:
    assert percentile(range(1, count + 1), percent) == expected


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


def test_latencies_become_a_rate_and_milliseconds() -> None:
    latencies = [place / 1024 for place in range(128, 0, -1)]
    assert figures_of(latencies, 2.0) == Figures(64.0, 62.5, 124.0234375)


def test_the_median_is_taken_of_each_figure() -> None:
    rounds = [Figures(100, 3, 30), Figures(300, 1, 20), Figures(200, 2, 10)]
    assert median_figures(rounds) == Figures(200, 2, 20)


def test_a_ratio_is_the_median_of_the_ratios_of_each_round() -> None:
    own = [Figures(50, 0, 0), Figures(10, 0, 0), Figures(90, 0, 0)]
    beside = [Figures(100, 0, 0), Figures(100, 0, 0), Figures(100, 0, 0)]
    assert median_ratio(own, beside) == 0.5
