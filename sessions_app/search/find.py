"""The answer to a search: by words, by any part of a text, by meaning, or by words and meaning together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from sessions_app import paging
from sessions_app.access import Caller
from sessions_app.log import place_of
from sessions_app.objects import iso, message_object, uid_text
from sessions_app.search import semantic
from sessions_app.search.filters import Filters
from sessions_app.search.neighbours import neighbours
from sessions_app.search.query import Query, parse_substring, parse_words
from sessions_app.search.ranking import fused, scores
from sessions_app.search.reading import Found, Looked, Place, Reader
from sessions_app.search.segments import Stale, microseconds, moment
from sessions_app.search.snippets import snippet

# By rank means: the best among so many of the newest that were found.
RANKED = 200
# Of each order, when two are put together.
FUSED = 100
ATTEMPTS = 5

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Asked:
    typed: str
    mode: str
    filters: Filters
    by_rank: bool
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
    # Among how many the order by rank was made; None where it is by time.
    ranked: int | None = None
    notes: Sequence[str] = ()


def search(caller: Caller, asked: Asked) -> dict[str, Any]:
    query = asked.query
    hits = steadily(lambda: _hits(caller, asked, query))
    around = neighbours(
        caller,
        [hit.found.row for hit in hits.shown],
        asked.context,
        include_hidden=asked.filters.include_hidden,
    )
    return {
        "items": [_item(hit, query, around) for hit in hits.shown],
        "next_cursor": hits.next_cursor,
        "mode": asked.mode,
        "sort": "rank" if asked.by_rank else "newest",
        "ranked_among": hits.ranked,
        "searched": None
        if hits.shown
        else _told(steadily(Reader(caller.agent_id, None, asked.filters).searched)),
        "notes": list(hits.notes),
    }


def found(caller: Caller, asked: Asked) -> list[dict[str, Any]]:
    """The messages alone, each with the text that was searched."""
    hits = steadily(lambda: _hits(caller, asked, asked.query))
    return [
        {
            **message_object(hit.found.row, ""),
            "session_key": hit.found.row["session__key"],
            "text": hit.found.document.text,
        }
        for hit in hits.shown
    ]


def sessions_with(caller: Caller, asked: Asked) -> set[int]:
    """The inner numbers of the sessions in which it was said."""
    hits = steadily(lambda: _hits(caller, asked, asked.query))
    return {hit.found.row["session_id"] for hit in hits.shown}


def steadily(look: Callable[[], Answer]) -> Answer:
    """Segments may be merged while they are read; then they are looked for again."""
    for _ in range(ATTEMPTS - 1):
        try:
            return look()
        except Stale:
            continue
    return look()


def _hits(caller: Caller, asked: Asked, query: Query) -> Hits:
    if asked.mode in ("semantic", "hybrid"):
        return _by_meaning(caller, asked, query)
    return _by_rank(caller, asked, query) if asked.by_rank else _newest(caller, asked, query)


def _newest(caller: Caller, asked: Asked, query: Query) -> Hits:
    below = None
    if asked.cursor is not None:
        at, pk = place_of(caller, *paging.decode(asked.cursor, paging.uid, paging.seq))
        below = (microseconds(at), pk)
    reader = Reader(caller.agent_id, query, asked.filters, below)
    found = list(islice(reader.newest_first(), asked.limit + 1))
    shown = [Hit(one, None) for one in found[: asked.limit]]
    return Hits(shown, _cursor(shown[-1].found) if len(found) > asked.limit else None)


def _by_rank(caller: Caller, asked: Asked, query: Query) -> Hits:
    start, below = _page_of(caller, asked.cursor)
    ranked, among = _ranked(caller, asked, query, below)
    return _page([Hit(one, score) for one, score in ranked], among, start, asked.limit)


def _ranked(
    caller: Caller, asked: Asked, query: Query, below: Place | None
) -> tuple[list[tuple[Found, float]], list[Found]]:
    reader = Reader(caller.agent_id, query, asked.filters, below)
    newest = list(islice(reader.newest_first(), RANKED))
    scored = zip(newest, scores(query, [one.document for one in newest]), strict=True)
    return sorted(scored, key=lambda pair: -pair[1]), newest


def _by_meaning(caller: Caller, asked: Asked, query: Query) -> Hits:
    start, below = _page_of(caller, asked.cursor)
    near = semantic.nearest(
        caller.agent_id, asked.typed, asked.filters, FUSED, below, strict=asked.mode == "semantic"
    )
    if asked.mode == "semantic":
        newest = sorted((one for one, _ in near.found), key=lambda one: one.place, reverse=True)
        page = _page([Hit(one, score) for one, score in near.found], newest, start, asked.limit)
        return Hits(page.shown, page.next_cursor, near.looked_at, near.notes)
    ranked, _ = _ranked(caller, asked, query, below)
    known = {one.row["pk"]: one for one, _ in (*near.found, *ranked)}
    order = fused([one.row["pk"] for one, _ in ranked[:FUSED]], [one.row["pk"] for one, _ in near.found])
    best = sorted(order.items(), key=lambda pair: (-pair[1], *(-part for part in known[pair[0]].place)))
    newest = sorted(known.values(), key=lambda one: one.place, reverse=True)
    page = _page([Hit(known[pk], score) for pk, score in best], newest, start, asked.limit)
    return Hits(page.shown, page.next_cursor, near.looked_at + len(ranked), near.notes)


def _page(hits: Sequence[Hit], newest: Sequence[Found], start: int, limit: int) -> Hits:
    shown = hits[start : start + limit]
    more = start + limit < len(hits)
    # What is newer than the newest of the first page must not move the pages that follow.
    cursor = _cursor(newest[0], start + limit) if more else None
    return Hits(shown, cursor, len(newest))


def _page_of(caller: Caller, cursor: str | None) -> tuple[int, Place | None]:
    if cursor is None:
        return 0, None
    uid, seq, start = paging.decode(cursor, paging.uid, paging.seq, paging.seq)
    at, pk = place_of(caller, uid, seq)
    return start, (microseconds(at), pk + 1)


def _cursor(one: Found, *more: int) -> str:
    return paging.encode(uid_text(one.row["session__uid"]) or "", one.row["seq"], *more)


def _item(hit: Hit, query: Query, around: dict[int, dict[str, Any]]) -> dict[str, Any]:
    row = hit.found.row
    session_id = uid_text(row["session__uid"]) or ""
    document = hit.found.document
    return {
        **message_object(row, session_id, preview=True),
        "session_id": session_id,
        "session_key": row["session__key"],
        "snippet": snippet(document, query.spans(document)),
        "score": None if hit.score is None else round(hit.score, 6),
        **around.get(row["pk"], {"before": None, "after": None}),
    }


def _told(looked: Looked) -> dict[str, Any]:
    return {
        "messages": looked.messages,
        "first_at": iso(None if looked.first_at is None else moment(looked.first_at)),
        "last_at": iso(None if looked.last_at is None else moment(looked.last_at)),
    }
