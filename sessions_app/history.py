"""The window over a session: reads what it needs, newest first, by index."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
from django.db.models import QuerySet

from sessions_app import providers
from sessions_app.access import Caller
from sessions_app.entries import ANSWERED
from sessions_app.handover import told
from sessions_app.models import Message, Session
from sessions_app.objects import Row, message_object, uid_text, utc
from sessions_app.providers import Source
from sessions_app.redaction import for_window
from sessions_app.sessions import find_with_newest
from sessions_app.storage import Reading, Stored, storage
from sessions_app.tokens import PER_MESSAGE, PER_TIME_LINE
from sessions_app.window import STAND_IN, Turn, Window, choose, plain_start

OVERLAP = 8
# Read in one go with the rest, so that a turn of usual length is whole without a second look.
SPARE = 24
RAW_STAND_IN: dict[str, Any] = {
    **dict.fromkeys(ANSWERED),
    "kind": "message",
    "role": "tool",
    "content": STAND_IN,
    "hidden": False,
}


def visible(session: Session) -> QuerySet[Message]:
    return Message.objects.filter(session_id=session.pk, kind="message", hidden_by="")


def window(
    caller: Caller, uid: UUID, *, max_messages: int, max_tokens: int | None, form: str, timestamps: bool
) -> dict[str, Any]:
    """The answer to `/history`."""
    clock = caller.zone if timestamps else None
    read = _first_read(max_messages, max_tokens)
    session, first = find_with_newest(caller, uid, read)
    rows = _newest(session, first, read.limit(session), max_messages, max_tokens)
    rows.reverse()
    if form == "openai" and clock is None and all(row.plain for row in rows):
        start = plain_start(
            [row.role for row in rows], [row.tokens for row in rows], max_messages, max_tokens
        )
        answer = _plain_answer(session, rows[start:])
    else:
        answer = _answer(session, rows, (max_messages, max_tokens), form, clock)
    return for_window(caller.redaction, answer)


def _plain_answer(session: Row, rows: Sequence[Stored]) -> dict[str, Any]:
    """Nothing to pair and nothing to adapt: the stored texts are joined as they are."""
    messages = orjson.Fragment(f"[{','.join([row.body for row in rows])}]")
    return _body(session, messages, sum([row.tokens for row in rows]), [row.seq for row in rows])


def _answer(
    session: Row, rows: Sequence[Stored], budgets: tuple[int, int | None], form: str, clock: ZoneInfo | None
) -> dict[str, Any]:
    read = [_parsed(row, timed=clock is not None and form != "raw") for row in rows]
    turns, sources = [turn for turn, _ in read], [source for _, source in read]
    chosen = choose(turns, *budgets)
    seqs = [turns[placed.place].seq for placed in chosen.placed if placed.place is not None]
    body = _body(session, [], chosen.tokens, seqs)
    body["left_out"] = {
        "orphan_results": [turns[index].seq for index in chosen.orphans],
        "repeated_results": [turns[index].seq for index in chosen.repeats],
        "stand_ins": sum(placed.place is None for placed in chosen.placed),
    }
    if form == "anthropic":
        body["system"], body["messages"] = providers.anthropic(chosen, sources, clock)
    elif form == "raw":
        body["messages"] = _raw(session, rows, chosen)
    else:
        body["messages"] = providers.openai(chosen, sources, clock)
    return body


def _body(session: Row, messages: Any, tokens: int, seqs: Sequence[int]) -> dict[str, Any]:
    return {
        "messages": messages,
        "summary": told(session["summary"], session["carried"]),
        "tokens": tokens,
        "from_seq": min(seqs, default=None),
        "to_seq": max(seqs, default=None),
        "left_out": {"orphan_results": [], "repeated_results": [], "stand_ins": 0},
    }


def _raw(session: Row, rows: Sequence[Stored], chosen: Window) -> list[dict[str, Any]]:
    """As stored, in the order of the window; a stand-in is a message without id, seq and time."""
    session_id = uid_text(session["uid"]) or ""
    return [
        {**RAW_STAND_IN, "tool_call_id": placed.answers}
        if placed.place is None
        else message_object(rows[placed.place]._asdict() | {"kind": "message", "hidden_by": ""}, session_id)
        for placed in chosen.placed
    ]


def _newest(
    session: Row, rows: list[Stored], limit: int, max_messages: int, max_tokens: int | None
) -> list[Stored]:
    """Newest first, on from the first `limit` rows, until no earlier start could be within the budgets."""
    taken: list[Stored] = []
    user_seen = over = False
    overlap: int | None = None
    counted = tokens = 0
    while True:
        for row in rows:
            if row.seq <= session["consolidated_through"] and len(taken) >= OVERLAP:
                if taken[-1].role == "user":
                    return taken
                overlap = overlap or len(taken)
            taken.append(row)
            user_seen = user_seen or row.role == "user"
            if row.role != "tool":
                counted += 1
                tokens += row.tokens
            over = counted > max_messages or (max_tokens is not None and tokens > max_tokens)
            if over and user_seen:
                return taken
        if len(rows) < limit:
            break
        below, limit = rows[-1].seq, limit * 2
        counted += _calls_in(rows)
        over = over or counted > max_messages
        if overlap or (over and not user_seen):
            rest = _back_to_user(session, below)
            return taken + rest if rest or user_seen else taken[:overlap]
        if over:
            return taken
        rows = storage().newest(session["id"], below, limit)
    return taken if user_seen else taken[:overlap]


def _first_read(max_messages: int, max_tokens: int | None) -> Reading:
    """How many messages a window is made of at most, mostly: then one statement reads them all."""
    most = max_messages if max_tokens is None else min(max_messages, max_tokens // PER_MESSAGE)
    return Reading(beyond=OVERLAP + SPARE + 1, least=SPARE + 1, most=most + 1)


def _calls_in(rows: Sequence[Stored]) -> int:
    """Each stands for one more message of the window: its result, or what stands in for it."""
    calling = (row for row in rows if row.role == "assistant" and not row.plain)
    return sum(len(orjson.loads(row.body).get("tool_calls", ())) for row in calling)


def _back_to_user(session: Row, below: int) -> list[Stored]:
    """The rest of a turn that is longer than any budget; nothing where no user message comes before."""
    users = Message.objects.filter(session_id=session["id"], kind="message", hidden_by="", role="user")
    user = users.filter(seq__lt=below).order_by("-seq").values_list("seq", flat=True).first()
    return [] if user is None else _between(session, user, below)


def _between(session: Row, first: int, below: int) -> list[Stored]:
    return [row for row in storage().newest(session["id"], below, below - first) if row.seq >= first]


def _parsed(row: Stored, *, timed: bool) -> tuple[Turn, Source]:
    moment = utc(row.created_at)
    tokens = row.tokens + (PER_TIME_LINE if timed and row.role == "user" else 0)
    if row.plain:
        return Turn(row.seq, row.role, tokens), Source(row.seq, row.body, None, created_at=moment)
    body = orjson.loads(row.body)
    extra = orjson.loads(row.extra) if row.extra else {}
    calls = tuple(call["id"] for call in body.get("tool_calls", ()))
    proactive = extra.get("proactive", False)
    tokens += PER_TIME_LINE if timed and proactive else 0
    turn = Turn(row.seq, row.role, tokens, calls, body.get("tool_call_id", ""), proactive)
    return turn, Source(row.seq, None, body, extra.get("media", ()), proactive, moment)
