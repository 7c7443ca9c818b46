"""Whatever is typed is a query. Pure: from the text to what is asked, and whether a document has it.

    words           all of them, in their stems
    "two words"     one after the other; so is `a:b` or `file.py`
    one OR other    either side, each with all of its words
    -word           not this one
    pre*            words that begin so
Signs alone (`%`, an emoji) are looked for as they stand, and so are Chinese, Japanese and Korean.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sessions_app.search.words import IS_CJK, Unit, fold, units

MOST_CHARACTERS = 10_000
# A pasted page is looked for by its first words.
MOST_ATOMS = 48
CHUNK = re.compile(r'(-?)"([^"]*)(?:"|\Z)|(\S+)')

Span = tuple[int, int]


class Document:
    """A message as the query sees it; each form is made when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def folded(self) -> str:
        return fold(self.text)

    @cached_property
    def units(self) -> list[Unit]:
        return units(self.folded)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Where each term stands among the units."""
        found: dict[str, list[int]] = {}
        for place, unit in enumerate(self.units):
            found.setdefault(unit.term, []).append(place)
        return found


@dataclass(frozen=True)
class Literal:
    """A text as it stands, in any case."""

    text: str

    def spans(self, document: Document) -> Iterator[Span]:
        start = document.folded.find(self.text)
        while start >= 0:
            yield start, start + len(self.text)
            start = document.folded.find(self.text, start + len(self.text))

    def is_in(self, document: Document) -> bool:
        return self.text in document.folded


@dataclass(frozen=True)
class Words:
    """Terms one after the other; of the last one, with `open_end`, only the beginning is given."""

    terms: tuple[str, ...]
    open_end: str = ""

    def spans(self, document: Document) -> Iterator[Span]:
        for first in self._starts(document):
            last = first + len(self.terms) + bool(self.open_end) - 1
            if self._fits(document.units, first, last):
                yield document.units[first].start, document.units[last].end

    def is_in(self, document: Document) -> bool:
        if len(self.terms) == 1 and not self.open_end:
            return self.terms[0] in document.places
        return next(self.spans(document), None) is not None

    def _starts(self, document: Document) -> Sequence[int]:
        return document.places.get(self.terms[0], ()) if self.terms else range(len(document.units))

    def _fits(self, found: Sequence[Unit], first: int, last: int) -> bool:
        if last >= len(found):
            return False
        if self.open_end and not found[last].word.startswith(self.open_end):
            return False
        return all(found[first + place].term == term for place, term in enumerate(self.terms))


Atom = Literal | Words


@dataclass(frozen=True)
class Alternative:
    wanted: tuple[Atom, ...] = ()
    unwanted: tuple[Atom, ...] = ()

    def is_in(self, document: Document) -> bool:
        return all(atom.is_in(document) for atom in self.wanted) and not any(
            atom.is_in(document) for atom in self.unwanted
        )


@dataclass(frozen=True)
class Query:
    """One alternative is enough; without any, nothing is found."""

    alternatives: tuple[Alternative, ...] = ()

    @cached_property
    def wanted(self) -> tuple[Atom, ...]:
        return tuple(dict.fromkeys(atom for one in self.alternatives for atom in one.wanted))

    def is_in(self, document: Document) -> bool:
        return any(one.is_in(document) for one in self.alternatives)

    def spans(self, document: Document) -> list[Span]:
        """Where the document has what was asked for, in order and without overlaps."""
        found: list[Span] = []
        for start, end in sorted(span for atom in self.wanted for span in atom.spans(document)):
            if found and start < found[-1][1]:
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            else:
                found.append((start, end))
        return found


def parse_substring(typed: str) -> Query:
    text = fold(typed[:MOST_CHARACTERS])
    return Query((Alternative((Literal(text),)),)) if text else Query()


def parse_words(typed: str) -> Query:
    alternatives: list[Alternative] = []
    wanted: list[Atom] = []
    unwanted: list[Atom] = []
    # Without a word before or behind it, OR means nothing.
    for chunk in [*CHUNK.finditer(typed[:MOST_CHARACTERS]), None]:
        if chunk is None or chunk[3] == "OR":
            if wanted or unwanted:
                alternatives.append(Alternative(tuple(wanted), tuple(unwanted)))
            wanted, unwanted = [], []
        elif chunk[3] != "AND" and len(wanted) + len(unwanted) < MOST_ATOMS:
            negative, atoms = _atoms(chunk)
            (unwanted if negative else wanted).extend(atom for atom in atoms if atom not in wanted)
    return Query(tuple(alternatives[:MOST_ATOMS]))


def _atoms(chunk: re.Match[str]) -> tuple[bool, list[Atom]]:
    if chunk[3] is None:
        return bool(chunk[1]), _of(chunk[2], quoted=True)
    text = chunk[3]
    negative = len(text) > 1 and text.startswith("-") and bool(units(fold(text)))
    return negative, _of(text[1:] if negative else text, quoted=False)


def _of(text: str, *, quoted: bool) -> list[Atom]:
    folded = fold(text).strip()
    found = units(folded)
    if not found:
        return [Literal(folded)] if folded else []
    if any(IS_CJK.match(unit.term) for unit in found):
        return list(_mixed(found))
    prefix = not quoted and folded.endswith("*") and folded[-2:-1].isalnum()
    terms = tuple(unit.term for unit in found)
    return [Words(terms[:-1], found[-1].word) if prefix else Words(terms)]


def _mixed(found: Sequence[Unit]) -> Iterator[Atom]:
    """Runs of characters as they stand, what is between them as words."""
    run = ""
    words: list[str] = []
    for unit in found:
        if IS_CJK.match(unit.term):
            run += unit.term
            if words:
                yield Words(tuple(words))
                words = []
        else:
            if run:
                yield Literal(run)
                run = ""
            words.append(unit.term)
    if run:
        yield Literal(run)
    if words:
        yield Words(tuple(words))
