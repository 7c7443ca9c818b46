"""What of the record goes into a summary, read page by page: a session may be longer than any memory."""

from collections.abc import Callable, Iterator
from typing import Any

import orjson
from django.db.models import QuerySet

from sessions_app.boundaries import Said
from sessions_app.live import release_connection
from sessions_app.models import Message
from sessions_app.recalled import is_marked
from sessions_app.sentences import Spoken

PAGE = 200
LONGEST = 8000


def visible(session_pk: int, after: int, through: int) -> QuerySet[Message]:
    """Every kind, without what was taken back."""
    return Message.objects.filter(session_id=session_pk, seq__gt=after, seq__lte=through, hidden_by="")


def said(session_pk: int, after: int, through: int) -> list[Said]:
    """The messages as the rules of boundaries see them."""
    found: list[Said] = []
    for page in _pages(session_pk, after, through, "seq", "kind", "role", "plain", "tokens", "body"):
        for seq, kind, role, plain, tokens, body in page:
            if kind == "message":
                found.append(_said(seq, role, tokens, "" if plain else body))
    return found


def spoken(
    session_pk: int, after: int, through: int, *, slowly: bool = False
) -> Callable[[], Iterator[Spoken]]:
    """To be called when it is needed. Whoever reads slowly holds no database connection between two pages."""

    def read() -> Iterator[Spoken]:
        for page in _pages(session_pk, after, through, "seq", "kind", "role", "body", "extra"):
            if slowly:
                release_connection()
            for row in page:
                if (one := _spoken(*row)) is not None:
                    yield one

    return read


def text_of(content: Any) -> str:
    """Of a message's content: a text, or the texts among its blocks."""
    if isinstance(content, str):
        return content
    texts = (block.get("text") for block in content or () if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def shown(value: Any) -> str:
    """A tool's result or arguments as text."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _pages(session_pk: int, after: int, through: int, *columns: str) -> Iterator[list[Any]]:
    while True:
        rows = list(visible(session_pk, after, through).order_by("seq").values_list(*columns)[:PAGE])
        if rows:
            yield rows
        if len(rows) < PAGE:
            return
        after = rows[-1][0]


def _said(seq: int, role: str, tokens: int, body: str) -> Said:
    if not body:
        return Said(seq, role, tokens)
    message = orjson.loads(body)
    calls = tuple(call["id"] for call in message.get("tool_calls", ()))
    return Said(seq, role, tokens, calls, message.get("tool_call_id", ""))


def _spoken(seq: int, kind: str, role: str, body: str, extra: str | None) -> Spoken | None:
    """System texts are instructions, and what is marked as recalled is known already."""
    if role == "system" or (extra is not None and is_marked(orjson.loads(extra))):
        return None
    entry = orjson.loads(body)
    if kind == "message":
        return Spoken(seq, kind, role, text_of(entry.get("content"))[:LONGEST], entry.get("name") or "")
    if kind == "tool_call":
        result = entry.get("result")
        return Spoken(seq, kind, "", "" if result is None else shown(result)[:LONGEST], entry["tool"])
    text, detail = ("error", "context") if kind == "error" else ("decision", "rationale")
    return Spoken(seq, kind, "", entry[text][:LONGEST], detail=(entry.get(detail) or "")[:LONGEST])
