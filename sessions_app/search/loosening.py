"""What a sentence asks for when no message has all of its words. Pure."""

from collections.abc import Iterator
from itertools import pairwise

from sessions_app.search.query import Alternative, Atom, Literal, Query, Words
from sessions_app.search.words import RUN, term_of

# Fewer words are meant as they are typed, and so are fewer characters without spaces.
SENTENCE = 3
RUN_OF = 6
# Of a sentence without spaces most pairs of characters are endings, or stand across two words.
WORD, PAIR = 2, 4
# What every sentence has tells nothing.
EVERYWHERE = frozenset(
    map(
        term_of,
        """
        a about again ago all also am an and any anybody anyone anything are as at be because been before
        being but by can could d did do does doing done down ever every for from get gets got had has
        have having he her here hers him his how i if in into is it its just last ll let many me might
        mine more most much must my no nor not now of off on once one only or other our ours out over re
        s said say says shall she should so some somebody someone something still such t tell than that
        the their theirs them then there these they thing things this those though to too up us ve very
        was we well were what when where whether which while who whom whose why will with would yet you
        your yours
        """.split(),  # noqa: SIM905 - a list would be a page long
    )
)


def looser(query: Query) -> Query | None:
    """About half of its words are enough; None for a query that is not a sentence."""
    if query.quoted or len(query.alternatives) != 1 or query.alternatives[0].unwanted:
        return None
    atoms = query.wanted
    if any(isinstance(atom, Words) and atom.open_end for atom in atoms):
        return None
    if len(atoms) < SENTENCE and not any(map(_is_long_run, atoms)):
        return None
    told = {part: share for atom in atoms for part, share in _parts(atom)}
    if not told:
        return None
    return Query((Alternative(tuple(told), least=_least(list(told.values()))),))


def _parts(atom: Atom) -> Iterator[tuple[Atom, int]]:
    """With the share of its like that is enough."""
    if isinstance(atom, Words):
        if not EVERYWHERE.issuperset(atom.terms):
            yield atom, WORD
    elif _is_long_run(atom):
        yield from ((Literal(first + second), PAIR) for first, second in pairwise(atom.text))
    elif RUN.fullmatch(atom.text):
        yield atom, WORD


def _is_long_run(atom: Atom) -> bool:
    return isinstance(atom, Literal) and len(atom.text) >= RUN_OF and bool(RUN.fullmatch(atom.text))


def _least(shares: list[int]) -> int:
    enough = -(-sum(12 // share for share in shares) // 12)
    return min(max(enough, 2), len(shares))
