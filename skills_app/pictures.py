"""Pictures for operators' pages as SVG: made of data, safe whatever the names are, legible in light and dark.

Colours come from CSS classes and variables of the page, each with a fallback; STYLE stands inside each
picture. Every mark has a `<title>`, and a picture is named for those who cannot see it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from skills_app.workflow_rules import bucket

Data = Mapping[str, Any]

STYLE = (
    "<style>"
    ".sk text{font:12px system-ui,sans-serif;fill:var(--skill-text,currentColor)}"
    ".sk .l90{fill:var(--skill-90,#1a7f4b)}.sk .l70{fill:var(--skill-70,#5fa83a)}"
    ".sk .l50{fill:var(--skill-50,#c9a227)}.sk .l30{fill:var(--skill-30,#d9772b)}"
    ".sk .l0{fill:var(--skill-0,#c0392b)}"
    ".sk .none{fill:none;stroke:var(--skill-line,#8888);stroke-dasharray:3 3}"
    ".sk .on{fill:var(--skill-on,#fff)}"
    ".sk .edge{stroke:var(--skill-edge,#6b7fd7);fill:none}.sk .tip{fill:var(--skill-edge,#6b7fd7)}"
    ".sk .node{fill:var(--skill-node,#6b7fd733);stroke:var(--skill-edge,#6b7fd7)}"
    ".sk .line{stroke:var(--skill-trend,#2f6fde);fill:none;stroke-width:2}"
    ".sk .bar{fill:var(--skill-volume,#8886)}.sk .odd{fill:var(--skill-odd,#c0392b)}"
    "</style>"
)
LONGEST_NAME = 28


def heatmap_svg(heatmap: Data) -> str:
    """Skills by phases; what was not used is an empty frame, not a red one."""
    left, top, width, height = 220, 40, 84, 26
    parts = []
    for column, phase in enumerate(heatmap["phases"]):
        parts.append(_text(left + column * width + width / 2, top - 12, phase, anchor="middle", most=11))
    for row, skill in enumerate(heatmap["skills"]):
        y = top + row * height
        parts.append(_text(left - 10, y + height / 2 + 4, skill, anchor="end"))
        for column, rate in enumerate(heatmap["cells"][row]):
            words = f"{skill}, {heatmap['phases'][column]}"
            parts.append(_heat((left + column * width, y, width, height), words, rate))
    size = (left + width * len(heatmap["phases"]) + 10, top + height * len(heatmap["skills"]) + 10)
    return _svg(size, "Completion rate of skills by workflow phase", parts)


def _heat(place: tuple[int, int, int, int], words: str, rate: float | None) -> str:
    x, y, width, height = place
    box = f'x="{x + 1}" y="{y + 1}" width="{width - 2}" height="{height - 2}" rx="3"'
    if rate is None:
        return f'<g><rect class="none" {box}/><title>{_safe(words)}: not used</title></g>'
    middle = f'x="{x + width / 2:g}" y="{y + 17}" text-anchor="middle"'
    return (
        f'<g><rect class="l{bucket(rate)}" {box}/><text class="on" {middle}>{rate:.0f} %</text>'
        f"<title>{_safe(words)}: {rate:.0f} %</title></g>"
    )


def transitions_svg(transitions: Sequence[Data], most: int = 30) -> str:
    """Phases on a circle; an arrow is the thicker the more often that way was taken."""
    shown = list(transitions)[:most]
    phases = sorted({each[end] for each in shown for end in ("from_phase", "to_phase")})
    width, height, radius = 560, 440, 150
    places = {
        phase: (
            width / 2 + radius * math.sin(2 * math.pi * number / len(phases)),
            height / 2 - radius * math.cos(2 * math.pi * number / len(phases)),
        )
        for number, phase in enumerate(phases)
    }
    widest = max((each["count"] for each in shown), default=1)
    parts = [_arrow(each, places, widest) for each in shown]
    for phase, (x, y) in places.items():
        parts.append(
            f'<g><circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="22"/><title>{_safe(phase)}</title></g>'
        )
        parts.append(_name(phase, (x, y), width / 2, height / 2))
    return _svg((width, height), "Transitions between workflow phases", parts)


def _name(phase: str, place: tuple[float, float], middle: float, centre: float) -> str:
    """Outside of the circle, where no arrow goes."""
    x, y = place
    anchor = "middle" if abs(x - middle) < 1 else "start" if x > middle else "end"
    if anchor == "middle":
        return _text(x, y + (40 if y > centre else -30), phase, anchor=anchor, most=16)
    return _text(x + (28 if x > middle else -28), y + 4, phase, anchor=anchor, most=16)


def _arrow(each: Data, places: Mapping[str, tuple[float, float]], widest: int) -> str:
    (x1, y1), (x2, y2) = places[each["from_phase"]], places[each["to_phase"]]
    weight = 1 + 5 * each["count"] / widest
    title = _safe(
        f"{each['from_phase']} to {each['to_phase']}: {each['count']} times, "
        f"mostly {each['most_common_skill']}, {each['avg_seconds']:.0f} s between"
    )
    if each["from_phase"] == each["to_phase"]:
        loop = f"{x1 - 40:.1f},{y1 - 70:.1f} {x1 + 40:.1f},{y1 - 70:.1f}"
        path = f"M{x1 - 14:.1f},{y1 - 18:.1f} C{loop} {x1 + 14:.1f},{y1 - 18:.1f}"
        tip = _tip(x1 + 14, y1 - 18, 0.25, 1.0)
    else:
        length = math.hypot(x2 - x1, y2 - y1)
        dx, dy = (x2 - x1) / length, (y2 - y1) / length
        # Bent to one side, so that the way back is another line.
        mx, my = (x1 + x2) / 2 - dy * 26, (y1 + y2) / 2 + dx * 26
        ex, ey = x2 - dx * 26, y2 - dy * 26
        path = f"M{x1 + dx * 24:.1f},{y1 + dy * 24:.1f} Q{mx:.1f},{my:.1f} {ex:.1f},{ey:.1f}"
        tip = _tip(ex, ey, dx, dy)
    return f'<g><path class="edge" d="{path}" stroke-width="{weight:.1f}"/>{tip}<title>{title}</title></g>'


def _tip(x: float, y: float, dx: float, dy: float) -> str:
    points = [(x + dx * 6, y + dy * 6), (x - dy * 5, y + dx * 5), (x + dy * 5, y - dx * 5)]
    return f'<polygon class="tip" points="{" ".join(f"{px:.1f},{py:.1f}" for px, py in points)}"/>'


def trend_svg(item: Data, width: int = 640, height: int = 180) -> str:
    """One skill: bars of uses a day, a line of the completion rate, days out of line marked."""
    days = item["days"]
    step = (width - 60) / max(len(days), 1)
    busiest = max((day["finished"] for day in days), default=0) or 1
    odd = {found["day"] for found in item["anomalies"]}
    parts = [_text(4, 20, "100 %"), _text(4, height - 24, "0 %")]
    points: list[str] = []
    for number, day in enumerate(days):
        x, tall = 48 + number * step, (height - 50) * day["finished"] / busiest / 2
        kind = "odd" if day["day"] in odd else "bar"
        parts.append(
            f'<g><rect class="{kind}" x="{x:.1f}" y="{height - 28 - tall:.1f}" '
            f'width="{max(step - 1, 1):.1f}" height="{tall:.1f}"/><title>{_safe(_day_words(day))}</title></g>'
        )
        if day["completion_rate"] is not None:
            points.append(f"{x + step / 2:.1f},{_height(day['completion_rate'], height):.1f}")
    parts.append(f'<polyline class="line" points="{" ".join(points)}"/>')
    if days:
        parts += [
            _text(48, height - 8, days[0]["day"]),
            _text(width - 8, height - 8, days[-1]["day"], anchor="end"),
        ]
    name = f"{item['skill_name']}: completion rate {item['rate_trend']}, use {item['volume_trend']}"
    return _svg((width, height), name, parts)


def _height(rate: float, height: int) -> float:
    return 16 + (height - 44) * (1 - rate / 100)


def _day_words(day: Data) -> str:
    rate = "" if day["completion_rate"] is None else f", {day['completion_rate']:.0f} % completed"
    return f"{day['day']}: {day['finished']} finished{rate}"


def sparkline_svg(values: Sequence[float | None], name: str, width: int = 120, height: int = 24) -> str:
    """A small line without axes; gaps where there is no value."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    step, span = width / max(len(values) - 1, 1), (high - low) or 1.0
    runs: list[list[str]] = [[]]
    for number, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append(f"{number * step:.1f},{height - 2 - (height - 4) * (value - low) / span:.1f}")
    parts = [f'<polyline class="line" points="{" ".join(run)}"/>' for run in runs if run]
    return _svg((width, height), name, parts)


def _svg(size: tuple[float, float], name: str, parts: Sequence[str]) -> str:
    width, height = size
    return (
        f'<svg class="sk" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-label={_attribute(name)}>'
        f"<title>{_safe(name)}</title>{STYLE}{''.join(parts)}</svg>"
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", most: int = LONGEST_NAME) -> str:
    short = text if len(text) <= most else text[: most - 1] + "…"
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f"<text {place}>{_safe(short)}<title>{_safe(text)}</title></text>"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _safe(text: str) -> str:
    return escape(_printable(text))


def _attribute(text: str) -> str:
    return quoteattr(_printable(text))
