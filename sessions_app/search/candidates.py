"""From a query to the messages of a segment that may have it. The index narrows; the stored text decides."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sessions_app.search.filters import Filters
from sessions_app.search.postings import Mask, Page, decode_mask
from sessions_app.search.query import Alternative, Atom, Query, Words
from sessions_app.search.segments import Segment, read
from sessions_app.search.words import literal_terms

# Of a long text a few places tell enough most of the time; more are looked at where many messages have those.
FIRST_GRAMS, MOST_GRAMS = 3, 24
AT_ONCE = 3
# More sessions than that are not looked up one by one.
MOST_SESSIONS = 256


@dataclass(frozen=True)
class Needs:
    """All of these terms, and of the terms that begin so at least one."""

    terms: tuple[str, ...] = ()
    beginning: str = ""
    # Whether a message with the terms has what was asked for, without a further look.
    exact: bool = False
    # These too, which tell little that the others do not.
    more: tuple[str, ...] = ()


def needs_of(atom: Atom) -> Needs:
    if isinstance(atom, Words):
        words = tuple(f"w{term}" for term in atom.terms)
        if not atom.open_end:
            return Needs(words, exact=len(words) == 1)
        opened = _text_needs(atom.open_end)
        return Needs(words + opened.terms, opened.beginning, more=opened.more)
    return _text_needs(atom.text)


def _text_needs(text: str) -> Needs:
    terms = literal_terms(text)
    if not terms:
        return Needs(beginning=f"g{text}")
    first = _spread(terms, FIRST_GRAMS)
    return Needs(first, more=tuple(term for term in _spread(terms, MOST_GRAMS) if term not in first))


def _spread(grams: Sequence[str], most: int) -> tuple[str, ...]:
    last = len(grams) - 1
    if last < most:
        return tuple(dict.fromkeys(grams))
    return tuple(dict.fromkeys(grams[last * place // (most - 1)] for place in range(most)))


class Finder:
    def __init__(self, query: Query | None, filters: Filters) -> None:
        """Without a query: every message that the filters let through."""
        self._alternatives = query.alternatives if query else (Alternative(),)
        self._needed = [terms for terms in filters.needed if len(terms) <= MOST_SESSIONS]
        self._refused = filters.refused[:MOST_SESSIONS]
        self._needs = {
            atom: needs_of(atom) for one in self._alternatives for atom in one.wanted + one.unwanted
        }
        # Of several alternatives, or of words that may be missing, none is needed by all.
        one = self._alternatives[0] if len(self._alternatives) == 1 else Alternative()
        wanted = () if one.least else one.wanted
        self._more = tuple(dict.fromkeys(term for atom in wanted for term in self._needs[atom].more))

    def masks(self, segments: Sequence[Segment]) -> list[Mask]:
        """For each segment, which of its messages to look at; all of their pages are read at once."""
        found = [self._mask(terms) for terms in self._read(segments)]
        return self._narrowed(segments, found) if self._more else found

    def _narrowed(self, segments: Sequence[Segment], masks: list[Mask]) -> list[Mask]:
        """A few terms at a time, where more messages are left than pages are read: both cost the same."""
        found = list(masks)
        for start in range(0, len(self._more), AT_ONCE):
            terms = self._more[start : start + AT_ONCE]
            keys = [term.encode() for term in terms]
            many = [place for place, mask in enumerate(found) if mask.sum() > AT_ONCE]
            if not many:
                break
            numbers = (segments[place].page_ids(key, key) for place in many for key in keys)
            pages = read(number for of_term in numbers for number in of_term)
            for place in many:
                found[place] = _Terms(segments[place], pages).having_all(terms, found[place])
        return found

    def _read(self, segments: Sequence[Segment]) -> list["_Terms"]:
        found = read(number for segment in segments for number in self._pages(segment))
        return [_Terms(segment, found) for segment in segments]

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

    def weights(self, segments: Sequence[Segment]) -> list[NDArray[np.float32]]:
        """For each message that may be found, how much of what was asked for it has, by how rare that is."""
        read_now = self._read(segments)
        everything = sum(segment.count for segment in segments)
        found = [np.zeros(segment.count, np.float32) for segment in segments]
        for atom in dict.fromkeys(atom for one in self._alternatives for atom in one.wanted):
            masks = [self._having(atom, terms) for terms in read_now]
            rare = math.log(1 + everything / (1 + sum(int(mask.sum()) for mask in masks)))
            found = [
                weight + mask.astype(np.float32) * np.float32(rare)
                for weight, mask in zip(found, masks, strict=True)
            ]
        return [weight * self._mask(terms) for weight, terms in zip(found, read_now, strict=True)]

    def _alternative(self, one: Alternative, terms: "_Terms") -> Mask:
        if one.least:
            counts = np.zeros(terms.count, np.int16)
            for atom in one.wanted:
                counts += self._having(atom, terms)
            mask: Mask = counts >= one.least
        else:
            mask = np.ones(terms.count, np.bool_)
            for atom in one.wanted:
                mask &= self._having(atom, terms)
                if not mask.any():
                    return mask
        for atom in one.unwanted:
            if self._needs[atom].exact:
                mask &= ~terms.having(self._needs[atom].terms[0])
        return mask

    def _having(self, atom: Atom, terms: "_Terms") -> Mask:
        needs = self._needs[atom]
        mask = terms.beginning(needs.beginning) if needs.beginning else np.ones(terms.count, np.bool_)
        return terms.having_all(needs.terms, mask)


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

    def having_all(self, terms: Iterable[str], mask: Mask) -> Mask:
        for term in terms:
            if not mask.any():
                break
            mask = mask & self.having(term)
        return mask

    def beginning(self, text: str) -> Mask:
        key = text.encode()
        mask = np.zeros(self.count, np.bool_)
        for number in self._segment.page_ids(key, key + b"\xff"):
            for data in self._pages[number].starting_with(key):
                mask |= decode_mask(data, self.count)
        return mask
