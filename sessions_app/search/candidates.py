"""From a query to the messages of a segment that may have it. The index narrows; the stored text decides."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sessions_app.search.filters import Filters
from sessions_app.search.postings import Mask, Page, decode_mask
from sessions_app.search.query import Alternative, Atom, Query, Words
from sessions_app.search.segments import Segment, read
from sessions_app.search.words import literal_terms

# Of a long text a few places tell enough.
MOST_GRAMS = 5
# More sessions than that are not looked up one by one.
MOST_SESSIONS = 256


@dataclass(frozen=True)
class Needs:
    """All of these terms, and of the terms that begin so at least one."""

    terms: tuple[str, ...] = ()
    beginning: str = ""
    # Whether a message with the terms has what was asked for, without a further look.
    exact: bool = False


def needs_of(atom: Atom) -> Needs:
    if isinstance(atom, Words):
        words = tuple(f"w{term}" for term in atom.terms)
        if not atom.open_end:
            return Needs(words, exact=len(words) == 1)
        opened = _text_needs(atom.open_end)
        return Needs(words + opened.terms, opened.beginning)
    return _text_needs(atom.text)


def _text_needs(text: str) -> Needs:
    terms = literal_terms(text)
    return Needs(tuple(_some(terms))) if terms else Needs(beginning=f"g{text}")


def _some(grams: Sequence[str]) -> list[str]:
    last = len(grams) - 1
    if last < MOST_GRAMS:
        return list(dict.fromkeys(grams))
    return list(dict.fromkeys(grams[last * place // (MOST_GRAMS - 1)] for place in range(MOST_GRAMS)))


class Finder:
    def __init__(self, query: Query | None, filters: Filters) -> None:
        """Without a query: every message that the filters let through."""
        self._alternatives = query.alternatives if query else (Alternative(),)
        self._needed = [terms for terms in filters.needed if len(terms) <= MOST_SESSIONS]
        self._refused = filters.refused[:MOST_SESSIONS]
        self._needs = {
            atom: needs_of(atom) for one in self._alternatives for atom in one.wanted + one.unwanted
        }

    def masks(self, segments: Sequence[Segment]) -> list[Mask]:
        """For each segment, which of its messages to look at; all of their pages are read at once."""
        looks = {segment.id: list(self._pages(segment)) for segment in segments}
        found = read(number for numbers in looks.values() for number in numbers)
        return [self._mask(_Terms(segment, found)) for segment in segments]

    def _pages(self, segment: Segment) -> Iterator[int]:
        for term in self._terms():
            key = term.encode()
            yield from segment.page_ids(key, key)
        for needs in self._needs.values():
            if needs.beginning:
                key = needs.beginning.encode()
                yield from segment.page_ids(key, key + b"\xff")

    def _terms(self) -> Iterable[str]:
        for needs in self._needs.values():
            yield from needs.terms
        for terms in self._needed:
            yield from terms
        yield from self._refused

    def _mask(self, terms: "_Terms") -> Mask:
        mask = np.zeros(terms.count, np.bool_)
        for one in self._alternatives:
            mask |= self._alternative(one, terms)
        for choice in self._needed:
            if not mask.any():
                break
            allowed = np.zeros(terms.count, np.bool_)
            for term in choice:
                allowed |= terms.having(term)
            mask &= allowed
        for term in self._refused:
            mask &= ~terms.having(term)
        return mask

    def _alternative(self, one: Alternative, terms: "_Terms") -> Mask:
        mask = np.ones(terms.count, np.bool_)
        for atom in one.wanted:
            needs = self._needs[atom]
            for term in needs.terms:
                mask &= terms.having(term)
                if not mask.any():
                    return mask
            if needs.beginning:
                mask &= terms.beginning(needs.beginning)
        for atom in one.unwanted:
            if self._needs[atom].exact:
                mask &= ~terms.having(self._needs[atom].terms[0])
        return mask


class _Terms:
    """The terms of one segment, out of the pages that were read."""

    def __init__(self, segment: Segment, pages: Mapping[int, Page]) -> None:
        self.count = segment.count
        self._segment = segment
        self._pages = pages

    def having(self, term: str) -> Mask:
        key = term.encode()
        for number in self._segment.page_ids(key, key):
            if data := self._pages[number].find(key):
                return decode_mask(data, self.count)
        return np.zeros(self.count, np.bool_)

    def beginning(self, text: str) -> Mask:
        key = text.encode()
        mask = np.zeros(self.count, np.bool_)
        for number in self._segment.page_ids(key, key + b"\xff"):
            for data in self._pages[number].starting_with(key):
                mask |= decode_mask(data, self.count)
        return mask
