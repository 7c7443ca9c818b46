"""A few words around what was found, with marks. Pure."""

import unicodedata
from collections.abc import Sequence

from sessions_app.search.query import Document, Span

BEFORE = 60
LENGTH = 200
MARKS = (">>>", "<<<")
CUT = "…"


def snippet(document: Document, spans: Sequence[Span]) -> str:
    """Around the first place that was found; the beginning where nothing is to be marked."""
    text = document.text
    places = _in_original(document, spans)
    start = max(0, places[0][0] - BEFORE) if places else 0
    start = _after_space(text, start, places[0][0]) if start and places else start
    end = min(len(text), max(start + LENGTH, places[0][1] if places else 0))
    return _marked(text, start, end, places)


def _marked(text: str, start: int, end: int, places: Sequence[Span]) -> str:
    parts, here = [CUT if start else ""], start
    for first, last in places:
        if here <= first < end:
            stop = min(last, end)
            parts += [text[here:first], MARKS[0], text[first:stop], MARKS[1]]
            here = stop
    parts += [text[here:end], CUT if end < len(text) else ""]
    return "".join(parts)


def _after_space(text: str, start: int, before: int) -> int:
    space = text.find(" ", start, before)
    return start if space < 0 else space + 1


def _in_original(document: Document, spans: Sequence[Span]) -> list[Span]:
    """Folding may change how long a text is; then each place is looked up by what comes before it."""
    text, folded = document.text, document.folded
    near = [span for span in spans[:64] if span[0] < spans[0][0] + 2 * LENGTH]
    if len(text) == len(folded):
        return list(near)
    starts = _folded_starts(text, near[-1][1] if near else 0)
    return [(_place(starts, first), _place(starts, last)) for first, last in near]


def _folded_starts(text: str, until: int) -> list[int]:
    """For each character of the text, where its folded form begins."""
    starts, total = [], 0
    for char in text:
        starts.append(total)
        if total > until:
            break
        # A combining mark joins the letter before it.
        total += 0 if unicodedata.combining(char) else len(unicodedata.normalize("NFC", char.casefold()))
    starts.append(total)
    return starts


def _place(starts: Sequence[int], folded: int) -> int:
    return next((place for place, start in enumerate(starts) if start >= folded), len(starts) - 1)
