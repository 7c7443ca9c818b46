"""Pictures as SVG, from plain values: no script draws them and nothing is loaded for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from django.utils.safestring import SafeString, mark_safe

WIDTH, HEIGHT = 720.0, 160.0
GAP = 0.25


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    # A part of the value that is drawn apart, such as errors.
    marked: float = 0
    # The list of what it counts.
    link: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """The drawing stretches with the page; its words do not, so they stand beside it."""

    svg: SafeString
    top: str
    middle: str
    labels: list[str]
    empty: bool


def bars(values: Sequence[Bar], title: str, *, labelled: int = 6, marked: str = "errors") -> Chart:
    """`marked` says what the marked part of a bar is."""
    top = nice(max((bar.value for bar in values), default=0))
    slot = WIDTH / max(len(values), 1)
    drawn = "".join(_bar(bar, index * slot, slot, top, marked) for index, bar in enumerate(values))
    # What may be pressed is no part of a picture.
    role = "group" if any(bar.link for bar in values) else "img"
    return Chart(
        _svg(_grid() + drawn, f"{title}. {_told(values)}", role),
        short(top),
        short(top / 2),
        _some([bar.label for bar in values], labelled),
        not any(bar.value for bar in values),
    )


def rates(values: Sequence[tuple[str, float | None]], title: str, *, labelled: int = 6) -> Chart:
    """Of a hundred, by label: a point where there is a value, a line where two stand side by side."""
    slot = WIDTH / max(len(values), 1)
    drawn, before = "", None
    for index, (label, rate) in enumerate(values):
        if rate is None:
            before = None
            continue
        x, y = (index + 0.5) * slot, 4 + (HEIGHT - 8) * (1 - rate / 100)
        if before is not None:
            drawn += f'<polyline class="db-line" points="{before} {x:.1f},{y:.1f}"/>'
        before = f"{x:.1f},{y:.1f}"
        # A line without length and with round ends stays round however the drawing is stretched.
        drawn += (
            f'<g><path class="db-point" d="M{x:.1f},{y:.1f}h.01"/>'
            f'<rect class="db-hit" x="{index * slot:.2f}" y="0" width="{slot:.2f}" height="{HEIGHT:g}"/>'
            f"<title>{escape(label)}: {rate:.0f} %</title></g>"
        )
    known = [rate for _, rate in values if rate is not None]
    told = f"From {min(known):.0f} to {max(known):.0f} %." if known else "Nothing yet."
    labels = _some([label for label, _ in values], labelled)
    return Chart(_svg(_grid() + drawn, f"{title}. {told}"), "100 %", "50 %", labels, not known)


def _grid() -> str:
    return "".join(
        f'<line class="db-grid" x1="0" x2="{WIDTH:g}" y1="{y:g}" y2="{y:g}"/>' for y in (0.5, HEIGHT / 2)
    )


def line(values: Sequence[float], title: str, *, height: float = 40) -> SafeString:
    """A sparkline."""
    if len(values) < 2:
        return _svg("", title, height=height)
    low, high = min(values), max(values)
    span = (high - low) or 1
    step = WIDTH / (len(values) - 1)
    points = [
        (index * step, height - 3 - (value - low) / span * (height - 6)) for index, value in enumerate(values)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    area = f"0,{height:g} {path} {WIDTH:g},{height:g}"
    drawn = f'<polygon class="db-area" points="{area}"/><polyline class="db-line" points="{path}"/>'
    return _svg(drawn, title, height=height)


def nice(most: float) -> float:
    """The end of an axis: the next of 1, 2, 4, 5, 10 … at or above the greatest value, 4 at least."""
    if most <= 4:
        return 4
    unit = 10 ** floor(log10(most))
    return float(next(factor * unit for factor in (1, 2, 4, 5, 10) if factor * unit >= most))


def short(number: float) -> str:
    """A number that fits a narrow place: 950, 1.2 k, 34 k, 5.6 M."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= limit:
            scaled = number / limit
            return f"{scaled:.1f}".removesuffix(".0") + f" {unit}" if scaled < 10 else f"{scaled:.0f} {unit}"
    return f"{number:g}"


def size(number: float) -> str:
    """Bytes in words."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def _bar(bar: Bar, x: float, slot: float, top: float, word: str) -> str:
    height = bar.value / top * (HEIGHT - 2)
    marked = bar.marked / top * (HEIGHT - 2)
    said = f"{escape(bar.label)}: {bar.value:g}" + (f", {bar.marked:g} of them {word}" if bar.marked else "")
    place = f'x="{x + slot * GAP / 2:.2f}" width="{slot * (1 - GAP):.2f}"'
    parts = _rect("db-bar", place, height - marked, HEIGHT)
    parts += _rect("db-bar db-marked", place, marked, HEIGHT - height + marked)
    # The whole height answers to the pointer, also where the bar is low.
    hit = f'<rect class="db-hit" x="{x:.2f}" y="0" width="{slot:.2f}" height="{HEIGHT:g}"/>'
    inner = f"{parts}{hit}<title>{said}</title>"
    if not (bar.link and bar.value):
        return f"<g>{inner}</g>"
    return f'<a href="{escape(bar.link)}" aria-label="{said}">{inner}</a>'


def _rect(name: str, place: str, height: float, bottom: float) -> str:
    if height <= 0:
        return ""
    return f'<rect class="{name}" {place} y="{bottom - height:.2f}" height="{height:.2f}"/>'


def _svg(inner: str, title: str, role: str = "img", *, height: float = HEIGHT) -> SafeString:
    """Made of numbers and of escaped words alone."""
    text = (
        f'<svg class="db-chart-svg" viewBox="0 0 {WIDTH:g} {height:g}" preserveAspectRatio="none"'
        f' role="{role}" aria-label="{escape(title)}">{inner}</svg>'
    )
    return mark_safe(text)  # noqa: S308 - see above


def _told(values: Sequence[Bar]) -> str:
    if not any(bar.value for bar in values):
        return "Nothing yet."
    most = max(values, key=lambda bar: bar.value)
    return f"{sum(bar.value for bar in values):g} in all, at most {most.value:g} ({most.label})."


def _some(labels: list[str], number: int) -> list[str]:
    """Evenly spread, the first and the last among them."""
    if len(labels) <= number:
        return labels
    step = (len(labels) - 1) / (number - 1)
    return [labels[ceil(index * step - 0.5)] for index in range(number)]
