"""Which messages are shown, and in which order: by time, by rank, by meaning, or two orders as one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from sessions_app import paging
from sessions_app.access import Caller
from sessions_app.log import place_of
from sessions_app.objects import uid_text
from sessions_app.problems import Problem
from sessions_app.search import semantic
from sessions_app.search.filters import Filters
from sessions_app.search.loosening import looser
from sessions_app.search.query import Query, parse_substring, parse_words
from sessions_app.search.ranking import fused, scores
from sessions_app.search.reading import Reader
from sessions_app.search.rows import Found, Place
from sessions_app.search.segments import microseconds

# By rank means: the best among so many of the newest that were found, or fewer where they are long.
RANKED, RANKED_CHARACTERS = 200, 1_000_000
# Of each order, when two are put together.
FUSED = 100
BY_MEANING = ("semantic", "hybrid")


@dataclass(frozen=True)
class Asked:
    typed: str
    mode: str
    filters: Filters
    # None: newest first, but for what is found by meaning or by some of the words only.
    sort: str | None
    limit: int
    cursor: str | None = None
    context: int = 0

    @property
    def query(self) -> Query:
        return parse_substring(self.typed) if self.mode == "substring" else parse_words(self.typed)


@dataclass(frozen=True)
class Hit:
    found: Found
    score: float | None


@dataclass(frozen=True)
class Hits:
    shown: Sequence[Hit]
    next_cursor: str | None
    # What was looked for in the end: it is marked in what was found.
    query: Query
    # Among how many the order by rank was made; None where it is by time.
    ranked: int | None = None
    notes: Sequence[str] = ()


def hits_of(caller: Caller, asked: Asked) -> Hits:
    query = asked.query
    if asked.mode in BY_MEANING:
        return _by_meaning(caller, asked, query)
    hits = _by_words(caller, asked, query)
    some = looser(query) if asked.mode == "text" and not hits.shown else None
    # An order by time that was begun has ended: nothing else follows it.
    if some is None or (asked.cursor is not None and not _is_of_rank(asked.cursor)):
        return hits
    return _by_some_words(caller, asked, some) or hits


def _by_words(caller: Caller, asked: Asked, query: Query) -> Hits:
    if asked.sort == "rank" or (asked.cursor is not None and _is_of_rank(asked.cursor)):
        return _by_rank(caller, asked, query)
    return _newest(caller, asked, query)


def _newest(caller: Caller, asked: Asked, query: Query) -> Hits:
    below = None
    if asked.cursor is not None:
        at, pk = place_of(caller, *paging.decode(asked.cursor, paging.uid, paging.seq))
        below = (microseconds(at), pk)
    reader = Reader(caller.agent_id, query, asked.filters, below)
    found = list(islice(reader.newest_first(), asked.limit + 1))
    shown = [Hit(one, None) for one in found[: asked.limit]]
    return Hits(shown, _cursor(shown[-1].found) if len(found) > asked.limit else None, query)


def _by_rank(caller: Caller, asked: Asked, query: Query) -> Hits:
    start, below = _page_of(caller, asked.cursor)
    newest = list(_bounded(Reader(caller.agent_id, query, asked.filters, below).newest_first()))
    hits = _page(_ranked(query, newest), newest, start, asked.limit, query)
    return replace(hits, notes=_bound_noted(newest))


def _by_some_words(caller: Caller, asked: Asked, some: Query) -> Hits | None:
    start, below = _page_of(caller, asked.cursor)
    best = _best(caller, asked, some, below)
    if not best:
        return None
    note = f"No message has all of these words. Shown are those that have at least {_told(some)}."
    if asked.sort == "newest":
        shown = [Hit(one, None) for one in best]
        return replace(_page(shown, best, start, asked.limit, some), ranked=None, notes=[note])
    hits = _page(_ranked(some, best), best, start, asked.limit, some)
    return replace(hits, notes=[note])


def _told(some: Query) -> str:
    [alternative] = some.alternatives
    words = ", ".join(atom.typed for atom in alternative.wanted)
    return f"{alternative.least} of: {words}"


def _by_meaning(caller: Caller, asked: Asked, query: Query) -> Hits:
    start, below = _page_of(caller, asked.cursor)
    near = semantic.nearest(
        caller.agent_id, asked.typed, asked.filters, FUSED, below, strict=asked.mode == "semantic"
    )
    if asked.mode == "semantic":
        newest = _newest_of(one for one, _ in near.found)
        shown = [Hit(one, score) for one, score in near.found]
        page = _page(shown, newest, start, asked.limit, query)
        return replace(page, ranked=near.looked_at, notes=near.notes)
    some = looser(query)
    words = some or query
    reader = Reader(caller.agent_id, words, asked.filters, below)
    newest = _best(caller, asked, some, below) if some else list(_bounded(reader.newest_first()))
    ranked = [hit.found for hit in _ranked(words, newest)]
    known = {one.row["pk"]: one for one in (*(one for one, _ in near.found), *ranked)}
    order = fused([one.row["pk"] for one in ranked[:FUSED]], [one.row["pk"] for one, _ in near.found])
    best = sorted(order.items(), key=lambda pair: (-pair[1], *(-part for part in known[pair[0]].place)))
    shown = [Hit(known[pk], score) for pk, score in best]
    page = _page(shown, _newest_of(known.values()), start, asked.limit, words)
    return replace(page, ranked=near.looked_at + len(ranked), notes=near.notes)


def _best(caller: Caller, asked: Asked, some: Query, below: Place | None) -> list[Found]:
    best = Reader(caller.agent_id, some, asked.filters, below).best(RANKED)
    return list(_bounded(best))


def _bounded(found: Iterable[Found]) -> Iterator[Found]:
    characters = 0
    for one in islice(found, RANKED):
        yield one
        characters += len(one.document.text)
        if characters > RANKED_CHARACTERS:
            return


def _bound_noted(newest: Sequence[Found]) -> list[str]:
    if len(newest) < RANKED and sum(len(one.document.text) for one in newest) <= RANKED_CHARACTERS:
        return []
    return [f"The order is made among the newest {len(newest)} that were found; older ones are not shown."]


def _ranked(query: Query, found: Sequence[Found]) -> list[Hit]:
    scored = zip(found, scores(query, [one.document for one in found]), strict=True)
    return [Hit(one, score) for one, score in sorted(scored, key=lambda pair: -pair[1])]


def _newest_of(found: Iterable[Found]) -> list[Found]:
    return sorted(found, key=lambda one: one.place, reverse=True)


def _page(hits: Sequence[Hit], newest: Sequence[Found], start: int, limit: int, query: Query) -> Hits:
    shown = hits[start : start + limit]
    more = start + limit < len(hits)
    # What is newer than the newest of the first page must not move the pages that follow.
    cursor = _cursor(newest[0], start + limit) if more else None
    return Hits(shown, cursor, query, len(newest))


def _is_of_rank(cursor: str) -> bool:
    try:
        paging.decode(cursor, paging.uid, paging.seq, paging.seq)
    except Problem:
        return False
    return True


def _page_of(caller: Caller, cursor: str | None) -> tuple[int, Place | None]:
    if cursor is None:
        return 0, None
    uid, seq, start = paging.decode(cursor, paging.uid, paging.seq, paging.seq)
    at, pk = place_of(caller, uid, seq)
    return start, (microseconds(at), pk + 1)


def _cursor(one: Found, *more: int) -> str:
    return paging.encode(uid_text(one.row["session__uid"]) or "", one.row["seq"], *more)
