"""A session's entries as operators read them: calls with their results, a part of the session at a time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from django.utils.safestring import SafeString

from sessions_app.admin import markdown
from sessions_app.models import Consolidation, Message, Session
from sessions_app.redaction import Redactor, redactor_for

PART = 100
# A result may come some messages after its call; it is looked for as far as this.
APART = 40
# A page does not carry the megabyte that an entry may be: its own page shows it whole.
SHOWN = 20_000
COLUMNS = ("pk", "seq", "kind", "role", "body", "extra", "tokens", "created_at", "hidden_by")
PLACE = 500
HIDDEN = {"clear": "cleared", "retain": "trimmed", "rewind": "rewound"}

Row = Mapping[str, Any]


@dataclass(slots=True)
class Call:
    """A tool's call with what came of it."""

    name: str
    arguments: str
    result: str | None = None
    result_seq: int | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    text: str
    from_seq: int
    through_seq: int
    # Whether it tells of everything that is condensed; older ones are within it.
    stands: bool
    # How it was made, where that is known.
    made: Consolidation | None = None


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
    # Whether it is the first of those that are hidden so, or condensed.
    begins_hidden: bool = False
    begins_condensed: bool = False
    cut: bool = False
    # The seq of the call that shows it, for a result that is shown there.
    belongs_to: int | None = None
    # What the model gets in place of what ends here.
    summary: Summary | None = None


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


def only(session: Session, seq: int) -> Part:
    """One entry, once more: a call whose result came later."""
    return _part(session, list(_rows(session).filter(seq=seq)))


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
    _mark_runs(shown)
    summaries = _summaries(session, first, last, redactor)
    for entry in shown:
        entry.summary = summaries.get(entry.seq)
    return Part(shown, first if first > 1 else None, last if last < session.last_seq else None)


def _mark_runs(entries: Sequence[Entry]) -> None:
    hidden, condensed = "", False
    for entry in entries:
        entry.begins_hidden = entry.hidden not in ("", hidden)
        entry.begins_condensed = entry.condensed and not condensed
        hidden, condensed = entry.hidden, entry.condensed


def _summaries(session: Session, first: int, last: int, redactor: Redactor | None) -> dict[int, Summary]:
    """By the last seq of what each of them tells of."""

    def clean(text: str) -> str:
        return text if redactor is None else redactor.text(text)

    through = session.consolidated_through
    made = Consolidation.objects.filter(
        session_id=session.pk, discarded_at=None, through_seq__gte=first, through_seq__lte=min(last, through)
    )
    found = {
        one.through_seq: Summary(
            clean(one.summary), one.from_seq, one.through_seq, one.through_seq == through, one
        )
        for one in made.defer("points")
    }
    if first <= through <= last:
        told_by = found[through].made if through in found else None
        found[through] = Summary(clean(session.summary), 1, through, True, told_by)
    return found


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
            media.append(_breadcrumb(block))
    return "\n".join(words), media


def _breadcrumb(block: Mapping[str, Any]) -> str:
    kind = _text(block.get("type")) or "block"
    place = block.get(kind)
    if isinstance(place, dict):
        place = place.get("url") or place.get("file_id") or place.get("filename")
    if not isinstance(place, str):
        return kind
    if place.startswith("data:"):
        return f"{kind}: {place[5:].partition(',')[0][:80]}, {len(place)} characters"
    return f"{kind}: {place[:PLACE]}"


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
