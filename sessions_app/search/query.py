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
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from sessions_app.search.words import IS_CJK, UNIT, fold, term_of, words

MOST_CHARACTERS = 10_000
# A pasted page is looked for by its first words.
MOST_ATOMS = 48
NAMED = re.compile(r"\w+(?:\+\+|#)")
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
    def words(self) -> list[str]:
        return words(self.folded)

    @cached_property
    def terms(self) -> list[str]:
        return list(map(term_of, self.words))

    @cached_property
    def places(self) -> list[Span]:
        """Where each word stands."""
        return [match.span() for match in UNIT.finditer(self.folded)]


@dataclass(frozen=True)
class Literal:
    """A text as it stands, in any case."""

    text: str

    @property
    def typed(self) -> str:
        return self.text

    def is_in(self, document: Document) -> bool:
        return self.text in document.folded

    def count(self, document: Document) -> int:
        return document.folded.count(self.text)

    def spans(self, document: Document) -> Iterator[Span]:
        start = document.folded.find(self.text)
        while start >= 0:
            yield start, start + len(self.text)
            start = document.folded.find(self.text, start + len(self.text))


@dataclass(frozen=True)
class Words:
    """Terms one after the other; of the last one, with `open_end`, only the beginning is given."""

    terms: tuple[str, ...]
    open_end: str = ""
    # As they were typed.
    typed: str = field(default="", compare=False)

    def is_in(self, document: Document) -> bool:
        if len(self.terms) == 1 and not self.open_end:
            return self.terms[0] in document.terms
        return next(self._starts(document), None) is not None

    def count(self, document: Document) -> int:
        if len(self.terms) == 1 and not self.open_end:
            return document.terms.count(self.terms[0])
        return sum(1 for _ in self._starts(document))

    def spans(self, document: Document) -> Iterator[Span]:
        last = len(self.terms) + bool(self.open_end) - 1
        for first in self._starts(document):
            yield document.places[first][0], document.places[first + last][1]

    def _starts(self, document: Document) -> Iterator[int]:
        """At which of the words it begins."""
        wanted, count = list(self.terms), len(self.terms)
        for first in range(len(document.terms) - count + (not self.open_end)):
            if document.terms[first : first + count] == wanted and (
                not self.open_end or document.words[first + count].startswith(self.open_end)
            ):
                yield first


Atom = Literal | Words


@dataclass(frozen=True)
class Alternative:
    wanted: tuple[Atom, ...] = ()
    unwanted: tuple[Atom, ...] = ()
    # So many of the wanted are enough; 0: it must be all of them.
    least: int = 0

    def is_in(self, document: Document) -> bool:
        found = (atom.is_in(document) for atom in self.wanted)
        enough = sum(found) >= self.least if self.least else all(found)
        return enough and not any(atom.is_in(document) for atom in self.unwanted)


@dataclass(frozen=True)
class Query:
    """One alternative is enough; without any, nothing is found."""

    alternatives: tuple[Alternative, ...] = ()
    # Whoever quotes means it to the letter.
    quoted: bool = False

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
    return Query(tuple(alternatives[:MOST_ATOMS]), quoted='"' in typed)


def _atoms(chunk: re.Match[str]) -> tuple[bool, list[Atom]]:
    if chunk[3] is None:
        return bool(chunk[1]), _of(chunk[2], quoted=True)
    text = chunk[3]
    negative = len(text) > 1 and text.startswith("-") and bool(words(fold(text)))
    return negative, _of(text[1:] if negative else text, quoted=False)


def _of(text: str, *, quoted: bool) -> list[Atom]:
    folded = fold(text).strip()
    found = words(folded)
    if not found:
        return [Literal(folded)] if folded else []
    if any(map(IS_CJK.match, found)):
        return list(_mixed(found))
    prefix = not quoted and folded.endswith("*") and folded[-2:-1].isalnum()
    terms = tuple(map(term_of, found))
    typed = " ".join(found)
    if prefix:
        return [Words(terms[:-1], found[-1], typed)]
    # The signs of `c++` and `c#` belong to the word.
    named = () if quoted else (Literal(name) for name in NAMED.findall(folded))
    return [Words(terms, typed=typed), *named]


def _mixed(found: Sequence[str]) -> Iterator[Atom]:
    """Runs of characters as they stand, what is between them as words."""
    for is_cjk, group in groupby(found, key=lambda word: bool(IS_CJK.match(word))):
        some = list(group)
        yield Literal("".join(some)) if is_cjk else Words(tuple(map(term_of, some)))
