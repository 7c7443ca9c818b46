"""Skills over time: which way they go, which days fall out of line, which are not used or fail. Pure."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from skills_app import likelihood
from skills_app.rollup_rules import Cell

# Below these nothing is said.
LEAST_USES, LEAST_DAYS = 10, 3
LEAST_ON_DAY, LEAST_BEFORE = 5, 7
PAST_DAYS = 28
LATELY_DAYS = 7
LEAST_LATELY = 3
TESTS = {
    "rate": "Cochran-Armitage test for a trend of the completion rate over days, two-sided, p < 0.05; "
    f"at least {LEAST_USES} finished uses on {LEAST_DAYS} days",
    "volume": "Laplace test for a trend of the number of finished uses over days, two-sided, p < 0.05",
    "anomalies": f"a day against the up to {PAST_DAYS} days before it, at least {LEAST_BEFORE} of them, "
    "|z| >= 3: two proportions for the rate (at least 5 uses on the day), spread of counts for the volume",
    "failing": f"in the last {LATELY_DAYS} days at least {LEAST_LATELY} finished, and less than half of "
    "them completed or significantly less than before (two proportions, p < 0.05)",
}

Days = Mapping[date, Cell]


def series(days: Days, since: date, until: date) -> list[tuple[date, int, int]]:
    """Each day of the period: finished and completed."""
    found = []
    for number in range((until - since).days + 1):
        cell = days.get(since + timedelta(days=number), Cell())
        found.append((since + timedelta(days=number), cell.finished, cell.completed))
    return found


def trend(days: Days, since: date, until: date) -> dict[str, Any]:
    points = series(days, since, until)
    finished = [count for _, count, _ in points]
    enough = sum(finished) >= LEAST_USES and sum(1 for count in finished if count) >= LEAST_DAYS
    rate = likelihood.rate_trend([(i, done, count) for i, (_, count, done) in enumerate(points) if count])
    volume = likelihood.volume_trend(finished)
    return {
        "days": [
            {
                "day": day.isoformat(),
                "finished": count,
                "completed": done,
                "completion_rate": 100 * done / count if count else None,
            }
            for day, count, done in points
        ],
        "rate_trend": likelihood.verdict(rate, "improving", "declining") if enough else "too_little_data",
        "rate_p_value": likelihood.p_value(rate) if enough and rate is not None else None,
        "volume_trend": likelihood.verdict(volume, "rising", "falling") if enough else "too_little_data",
        "volume_p_value": likelihood.p_value(volume) if enough and volume is not None else None,
        "anomalies": anomalies(series(days, since - timedelta(days=PAST_DAYS), until), since),
    }


def anomalies(points: Sequence[tuple[date, int, int]], since: date) -> list[dict[str, Any]]:
    """Days of the period that fall out of line with the skill's own past, which may lie before it."""
    found = []
    first = next((place for place, point in enumerate(points) if point[1]), len(points))
    begin = next((place for place, point in enumerate(points) if point[0] >= since), len(points))
    for place in range(max(first + LEAST_BEFORE, begin), len(points)):
        past = points[max(first, place - PAST_DAYS) : place]
        day, count, done = points[place]
        before, worked = sum(point[1] for point in past), sum(point[2] for point in past)
        by_volume = likelihood.count_differs(count, [point[1] for point in past])
        if by_volume is not None and abs(by_volume) >= likelihood.UNUSUAL:
            found.append(_anomaly(day, "volume", count, before / len(past), by_volume))
        by_rate = likelihood.rate_differs(done, count, worked, before) if count >= LEAST_ON_DAY else None
        if by_rate is not None and abs(by_rate) >= likelihood.UNUSUAL:
            found.append(_anomaly(day, "rate", 100 * done / count, 100 * worked / before, by_rate))
    return found


def _anomaly(day: date, kind: str, value: float, usual: float, z: float) -> dict[str, Any]:
    return {"day": day.isoformat(), "kind": kind, "value": float(value), "usual": usual, "z": z}


def failing(days: Days, until: date) -> dict[str, Any] | None:
    """Whether a skill fails lately, against the time before."""
    border = until - timedelta(days=LATELY_DAYS - 1)
    lately, before = Cell(), Cell()
    for day, cell in days.items():
        if day <= until:
            (lately if day >= border else before).add(cell)
    if lately.finished < LEAST_LATELY:
        return None
    z = likelihood.rate_differs(lately.completed, lately.finished, before.completed, before.finished)
    if lately.rate >= 50 and (z is None or z > -likelihood.Z95):
        return None
    return {
        "finished": lately.finished,
        "completion_rate": lately.rate,
        "completion_rate_before": before.rate if before.finished else None,
    }
