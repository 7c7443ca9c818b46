"""A session's entries as operators read them: calls with their results, a part of the session at a time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from django.utils.safestring import SafeString

from sessions_app.admin import markdown
from sessions_app.models import Message, Session
from sessions_app.redaction import Redactor, redactor_for

PART = 100
# A result may come some messages after its call; it is looked for as far as this.
APART = 40
# A page does not carry the megabyte that an entry may be: its own page shows it whole.
SHOWN = 20_000
COLUMNS = ("pk", "seq", "kind", "role", "body", "extra", "tokens", "created_at", "hidden_by")
HIDDEN = {"clear": "cleared", "retain": "trimmed", "rewind": "rewound"}

Row = Mapping[str, Any]


@dataclass(slots=True)
class Call:
    """A tool's call with what came of it."""

    name: str
    arguments: str
    result: str | None = None
    result_seq: int | None = None


@dataclass(slots=True)
class Entry:
    pk: int
    seq: int
    # message, tool_call, error or decision; for messages the role says whose they are.
    kind: str
    role: str
    created_at: datetime
    text: str = ""
    html: SafeString | None = None
    note: str = ""
    calls: list[Call] = field(default_factory=list)
    media: list[str] = field(default_factory=list)
    reasoning: str = ""
    name: str = ""
    confidence: float | None = None
    tokens: int = 0
    hidden: str = ""
    condensed: bool = False
    cut: bool = False
    # The seq of the call that shows it, for a result that is shown there.
    belongs_to: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    entries: list[Entry]
    # Whether there is anything before and after it.
    earlier: int | None
    later: int | None


def newest(session: Session) -> Part:
    return before(session, session.last_seq + 1)


def before(session: Session, seq: int) -> Part:
    rows = list(_rows(session).filter(seq__lt=seq).order_by("-seq")[:PART])[::-1]
    return _part(session, rows)


def after(session: Session, seq: int) -> Part:
    return _part(session, list(_rows(session).filter(seq__gt=seq).order_by("seq")[:PART]))


def around(session: Session, seq: int) -> Part:
    """A part in which the entry stands somewhere near the beginning."""
    return after(session, max(0, seq - PART // 4))


def _rows(session: Session) -> Any:
    return Message.objects.filter(session_id=session.pk).values(*COLUMNS)


def _part(session: Session, rows: Sequence[Row]) -> Part:
    if not rows:
        return Part([], None, None)
    first, last = rows[0]["seq"], rows[-1]["seq"]
    around = [*_calls_before(session, first), *rows, *_results_after(session, last)]
    redactor = redactor_for(session.agent.redaction, "display")
    entries = together(around, session.consolidated_through, redactor)
    shown = [entry for entry in entries if first <= entry.seq <= last]
    return Part(shown, first if first > 1 else None, last if last < session.last_seq else None)


def _calls_before(session: Session, seq: int) -> Iterable[Row]:
    found = _rows(session).filter(seq__lt=seq, seq__gte=seq - APART, kind="message", role="assistant")
    return list(found.order_by("seq"))


def _results_after(session: Session, seq: int) -> Iterable[Row]:
    found = _rows(session).filter(seq__gt=seq, seq__lte=seq + APART, kind="message", role="tool")
    return list(found.order_by("seq"))


def together(
    rows: Iterable[Row], condensed_through: int = 0, redactor: Redactor | None = None
) -> list[Entry]:
    """Pure. Results stand with their calls; what stands elsewhere says where."""
    entries: list[Entry] = []
    open_calls: dict[str, tuple[Entry, Call]] = {}
    for row in rows:
        body, extra = orjson.loads(row["body"]), orjson.loads(row["extra"] or "{}")
        if redactor is not None:
            body, extra = redactor.value(body), redactor.value(extra)
        entry = _entry(row, body, extra, condensed_through)
        entries.append(entry)
        for call in body.get("tool_calls") or ():
            shown = _call(call)
            entry.calls.append(shown)
            open_calls[call["id"]] = (entry, shown)
        if entry.role == "tool" and (found := open_calls.pop(body.get("tool_call_id", ""), None)):
            owner, answered = found
            answered.result, answered.result_seq = _pretty(entry.text), entry.seq
            entry.belongs_to = owner.seq
    return entries


def _entry(row: Row, body: dict[str, Any], extra: dict[str, Any], condensed_through: int) -> Entry:
    entry = Entry(row["pk"], row["seq"], row["kind"], row["role"], row["created_at"], tokens=row["tokens"])
    entry.hidden = HIDDEN.get(row["hidden_by"], str(row["hidden_by"]))
    entry.condensed = row["seq"] <= condensed_through
    entry.media = [str(place) for place in extra.get("media", ())]
    entry.confidence = extra.get("confidence")
    entry.note = "unasked" if extra.get("proactive") else ""
    _FILL[row["kind"]](entry, body)
    if len(entry.text) > SHOWN:
        entry.text, entry.cut = entry.text[:SHOWN], True
    if entry.kind == "message" and entry.role == "assistant" and entry.text:
        entry.html = markdown.rendered(entry.text)
    return entry


def _message(entry: Entry, body: dict[str, Any]) -> None:
    entry.text, found = spoken(body.get("content"))
    entry.media += found
    entry.reasoning = _text(body.get("reasoning_content"))[:SHOWN]
    entry.name = _text(body.get("name"))


def _tool_call(entry: Entry, body: dict[str, Any]) -> None:
    entry.calls = [Call(_text(body.get("tool")), _pretty(body.get("args")), _pretty(body.get("result")))]


def _error(entry: Entry, body: dict[str, Any]) -> None:
    entry.text, entry.note = _text(body.get("error")), _text(body.get("context"))


def _decision(entry: Entry, body: dict[str, Any]) -> None:
    entry.text, entry.note = _text(body.get("decision")), _text(body.get("rationale"))


_FILL = {"message": _message, "tool_call": _tool_call, "error": _error, "decision": _decision}


def spoken(content: Any) -> tuple[str, list[str]]:
    """The words of a message, and a breadcrumb for each block that is none: it is named, never loaded."""
    if not isinstance(content, list):
        return _text(content), []
    words, media = [], []
    for block in content:
        if isinstance(block.get("text"), str):
            words.append(block["text"])
        else:
            media.append(_text(block.get("type")) or "block")
    return "\n".join(words), media


def _call(call: Mapping[str, Any]) -> Call:
    function = call.get("function") or {}
    return Call(_text(function.get("name")), _pretty(function.get("arguments")))


def _pretty(value: Any) -> str:
    """JSON with its lines apart; what is none, as it is."""
    if isinstance(value, str):
        text = value
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return text[:SHOWN]
        if not isinstance(value, dict | list):
            return text[:SHOWN]
    if value is None:
        return ""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()[:SHOWN]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
