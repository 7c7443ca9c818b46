"""Reports on what was recorded: read by index, written, kept, listed."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
import structlog
from django.db.models import Q, QuerySet

from sessions_app import paging
from sessions_app.access import Caller
from sessions_app.engines import LLM, EngineFailed
from sessions_app.live import release_connection
from sessions_app.material import text_of
from sessions_app.models import Agent, Message, Reflection, Session
from sessions_app.objects import iso, message_id, uid_text
from sessions_app.problems import Invalid, NotFound, invalid
from sessions_app.recalled import is_marked
from sessions_app.reflecting import Figures, Reviewed, gathered
from sessions_app.reflection_report import linked, stats
from sessions_app.sessions import UID

DEFAULT = 30
# Of one report: the newest so many, and the report says that there were more.
MOST = 100_000
PAGE = 1000
LONGEST = 8000
ASKED, DAILY = "asked", "daily"
AGO = re.compile(r"(\d{1,4})([hdw])\Z")
UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
SECONDS = {"duration_seconds": 1.0, "elapsed_seconds": 1.0, "duration_ms": 0.001, "elapsed_ms": 0.001}
COLUMNS = ("pk", "session__uid", "seq", "kind", "role", "body", "extra", "created_at")

# Who knows of skills stands above and adds itself: agent's number, since and until in, those that failed out.
SkillFailures = Callable[[int, datetime | None, datetime | None], Sequence[Mapping[str, Any]]]
skill_failures: list[SkillFailures] = []

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which entries: the newest `limit` of a period, of one session or of all."""

    limit: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    session: Session | None = None

    @property
    def most(self) -> int:
        if self.limit is None:
            return MOST if self.since or self.until else DEFAULT
        return self.limit


def write(agent: Agent, scope: Scope, trigger: str, now: datetime) -> Reflection:
    """Reads and reckons; whoever calls stores it, with whatever belongs to it."""
    began = time.monotonic()
    entries = reviewed(agent.pk, scope)
    figures = gathered(islice(entries, scope.most))
    before = _before(agent.pk, scope, entries)
    found = stats(figures, before, _skills(agent.pk, scope, figures))
    found["truncated"] = scope.limit is None and figures.counts["entries"] == MOST
    if found["entries"]:
        _add_insight(agent, found)
    return Reflection(
        agent=agent,
        session=scope.session,
        trigger=trigger,
        since=scope.since,
        until=scope.until,
        entries=found["entries"],
        markdown=linked(found),
        stats=found,
        seconds=round(time.monotonic() - began, 3),
        created_at=now,
    )


def reviewed(agent_id: int, scope: Scope) -> Iterator[Reviewed]:
    """Newest first, page by page, by the index of the newest; without what was taken back."""
    found = Message.objects.filter(agent_id=agent_id, hidden_by="")
    if scope.session is not None:
        found = found.filter(session_id=scope.session.pk)
    if scope.since is not None:
        found = found.filter(created_at__gte=scope.since)
    if scope.until is not None:
        found = found.filter(created_at__lt=scope.until)
    size, last = min(PAGE, scope.most + 1), None
    while True:
        page = _page(found, size, last)
        yield from (_reviewed(row) for row in page)
        if len(page) < size:
            return
        last, size = page[-1], PAGE


def parse_moment(text: str | None, name: str, now: datetime, zone: ZoneInfo) -> datetime | None:
    """ISO 8601, without an offset in the agent's zone; or so long ago: 24h, 7d, 2w."""
    if text is None:
        return None
    if ago := AGO.match(text):
        return now - int(ago[1]) * UNITS[ago[2]]
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise wrong_moment(name) from None


def wrong_moment(name: str) -> Invalid:
    return invalid(["body", name], "It must be a time in ISO 8601, or like 24h, 7d, 2w.", "datetime_parsing")


def of(caller: Caller) -> QuerySet[Reflection]:
    return Reflection.objects.filter(agent_id=caller.agent_id).select_related("session")


def listed(caller: Caller, *, cursor: str | None, limit: int) -> paging.Page:
    """Newest first, without their texts."""
    found = of(caller).defer("markdown", "stats")
    if cursor is not None:
        created_at, uid = paging.decode(cursor, paging.moment, paging.uid)
        found = found.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, uid__lt=uid))
    rows = list(found.order_by("-created_at", "-uid")[: limit + 1])
    return paging.page(
        rows,
        limit,
        lambda rows: [_listed(row) for row in rows],
        lambda row: paging.encode(iso(row.created_at) or "", uid_text(row.uid) or ""),
    )


def one(caller: Caller, text: str) -> dict[str, Any]:
    found = of(caller).filter(uid=UUID(text)).first() if UID.match(text) else None
    if found is None:
        raise NotFound("There is no such reflection.")
    return shown(found)


def shown(found: Reflection) -> dict[str, Any]:
    return {**_listed(found), "markdown": found.markdown, "stats": found.stats}


def _listed(found: Reflection) -> dict[str, Any]:
    return {
        "id": uid_text(found.uid),
        "session_id": None if found.session is None else uid_text(found.session.uid),
        "trigger": found.trigger,
        "since": iso(found.since),
        "until": iso(found.until),
        "entries": found.entries,
        "delivery_id": uid_text(found.delivery),
        "delivery_error": found.delivery_error or None,
        "seconds": found.seconds,
        "created_at": iso(found.created_at),
    }


def _before(agent_id: int, scope: Scope, rest: Iterator[Reviewed]) -> Figures | None:
    """The period of the same length before; without one, as many entries further back."""
    if scope.since is None:
        return gathered(islice(rest, scope.most)) if scope.until is None else None
    length = (scope.until or datetime.now(UTC)) - scope.since
    try:
        since = scope.since - length
    except OverflowError:
        return None
    earlier = Scope(scope.limit, since, scope.since, scope.session)
    return gathered(islice(reviewed(agent_id, earlier), scope.most))


def _skills(agent_id: int, scope: Scope, figures: Figures) -> list[Mapping[str, Any]]:
    if scope.session is not None or not figures.counts["entries"]:
        return []
    since, until = scope.since or figures.first, scope.until
    return [skill for source in skill_failures for skill in source(agent_id, since, until)]


def _add_insight(agent: Agent, found: dict[str, Any]) -> None:
    """By the model, for agents that have one; the report is whole without it."""
    if agent.consolidation_engine != LLM:
        return
    from sessions_app.engines.llm import insight

    release_connection()
    told = {name: value for name, value in found.items() if name not in ("by_day", "insights")}
    try:
        found["insights"].append(insight(orjson.dumps(told).decode()))
        found["insight_by"] = LLM
    except EngineFailed as error:
        log.warning("a report without a model's insight", error=str(error))
        found["insight_error"] = str(error)


def _page(found: QuerySet[Message], size: int, last: Any) -> list[Any]:
    if last is not None:
        found = found.filter(Q(created_at__lt=last[-1]) | Q(created_at=last[-1], pk__lt=last[0]))
    return list(found.order_by("-created_at", "-pk").values_list(*COLUMNS)[:size])


def _reviewed(row: Any) -> Reviewed:
    _, uid, seq, kind, role, body, extra, created_at = row
    entry = orjson.loads(body)
    more = orjson.loads(extra) if extra else {}
    session_id = uid_text(uid) or ""
    told = _told(kind, role, entry)
    return Reviewed(
        message_id(session_id, seq),
        session_id,
        kind,
        role,
        created_at,
        confidence=more.get("confidence"),
        seconds=_seconds(more.get("metadata")),
        recalled=is_marked(more),
        **told,
    )


def _told(kind: str, role: str, entry: dict[str, Any]) -> dict[str, Any]:
    if kind == "message":
        text = text_of(entry.get("content"))[:LONGEST]
        made = entry.get("tool_calls") or ()
        return {
            "text": text,
            "calls": tuple((call["id"], call["function"]["name"]) for call in made),
            "answers": entry.get("tool_call_id", ""),
            "result": text if role == "tool" else None,
        }
    if kind == "tool_call":
        return {"tool": entry["tool"], "result": entry.get("result")}
    return {"text": (entry["error"] if kind == "error" else entry["decision"])[:LONGEST]}


def _seconds(metadata: Any) -> float | None:
    """Agents name it in several ways."""
    for name, unit in SECONDS.items():
        value = metadata.get(name) if isinstance(metadata, dict) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return value * unit
    return None
