"""The answer to a search: by words, by any part of a text, by meaning, or by words and meaning together."""

from collections.abc import Callable
from typing import Any, TypeVar

from sessions_app.access import Caller
from sessions_app.objects import iso, message_object, uid_text
from sessions_app.redaction import Redactor, redactor_for
from sessions_app.search.hits import Asked, Hit, hits_of
from sessions_app.search.neighbours import neighbours
from sessions_app.search.query import Document, Query
from sessions_app.search.reading import Looked, Reader
from sessions_app.search.segments import Stale, moment
from sessions_app.search.snippets import snippet

__all__ = ["Asked", "found", "search", "sessions_with"]

ATTEMPTS = 5

Answer = TypeVar("Answer")


def search(caller: Caller, asked: Asked) -> dict[str, Any]:
    hits = steadily(lambda: hits_of(caller, asked))
    around = neighbours(
        caller,
        [hit.found.row for hit in hits.shown],
        asked.context,
        include_hidden=asked.filters.include_hidden,
    )
    redactor = redactor_for(caller.redaction, "display")
    return {
        "items": [_item(hit, _excerpt(hit, hits.query, redactor), around) for hit in hits.shown],
        "next_cursor": hits.next_cursor,
        "mode": asked.mode,
        "sort": "newest" if hits.ranked is None else "rank",
        "ranked_among": hits.ranked,
        "searched": None
        if hits.shown
        else _told(steadily(Reader(caller.agent_id, None, asked.filters).searched)),
        "notes": list(hits.notes),
    }


def found(caller: Caller, asked: Asked) -> list[dict[str, Any]]:
    """The messages alone, each with the text that was searched."""
    hits = steadily(lambda: hits_of(caller, asked))
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
    hits = steadily(lambda: hits_of(caller, asked))
    return {hit.found.row["session_id"] for hit in hits.shown}


def places_with(caller: Caller, asked: Asked) -> list[int]:
    """The numbers of the messages in which it was said: of one session."""
    hits = steadily(lambda: hits_of(caller, asked))
    return sorted(hit.found.row["seq"] for hit in hits.shown)


def steadily(look: Callable[[], Answer]) -> Answer:
    """Segments may be merged while they are read; then they are looked for again."""
    for _ in range(ATTEMPTS - 1):
        try:
            return look()
        except Stale:
            continue
    return look()


def _excerpt(hit: Hit, query: Query, redactor: Redactor | None) -> str:
    """Made of the redacted text: marks and cuts in a secret would keep it from being seen as one."""
    document = hit.found.document
    if redactor is not None:
        document = Document(redactor.text(document.text))
    return snippet(document, query.spans(document))


def _item(hit: Hit, excerpt: str, around: dict[int, dict[str, Any]]) -> dict[str, Any]:
    row = hit.found.row
    session_id = uid_text(row["session__uid"]) or ""
    return {
        **message_object(row, session_id, preview=True),
        "session_id": session_id,
        "session_key": row["session__key"],
        "snippet": excerpt,
        "score": None if hit.score is None else round(hit.score, 6),
        **around.get(row["pk"], {"before": None, "after": None}),
    }


def _told(looked: Looked) -> dict[str, Any]:
    return {
        "messages": looked.messages,
        "first_at": iso(None if looked.first_at is None else moment(looked.first_at)),
        "last_at": iso(None if looked.last_at is None else moment(looked.last_at)),
    }
