"""Search for operators: what the API finds, over all agents, with what was said around it."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.contrib.admin import site
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from pydantic import ValidationError

from gateway_app.admin.acting import acting_for
from sessions_app.models import Agent
from sessions_app.problems import Problem
from sessions_app.redaction import redactor_for
from sessions_app.search.asking import asked_of
from sessions_app.search.find import search
from sessions_app.search.snippets import MARKS
from sessions_app.search.text import searched_text
from sessions_app.search_schemas import SearchQuery

SHOWN, CONTEXT = 20, 1
AGENTS = 50
AROUND = 200
LISTED = re.compile(r"[^\s,]+")
NAMES = ("q", "mode", "sort", "role", "kind", "platform", "tool", "key", "session", "since", "until",
         "include_hidden", "cursor")  # fmt: skip
# Several, apart from one another.
LISTS = ("exclude_platform", "exclude_session")
CHOICES = {
    "mode": ("text", "substring", "semantic", "hybrid"),
    "sort": ("newest", "rank"),
    "role": ("user", "assistant", "system", "tool"),
    "kind": ("message", "tool_call", "error", "decision"),
}
TYPED = (
    ("platform", "Platform", "telegram"), ("tool", "Tool", "web_search"), ("since", "Since", "7d or a time"),
    ("until", "Until", "24h or a time"), ("key", "Key", "of a session"), ("session", "Session", "its id"),
    ("exclude_platform", "Not on platforms", "email, cron"),
    ("exclude_session", "Not in sessions", "their ids"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    who: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    agent: str
    session_id: str
    key: str
    seq: int
    who: str
    at: datetime
    snippet: SafeString
    before: list[Line]
    after: list[Line]

    @property
    def number(self) -> str:
        return str(self.seq)


@dataclass(slots=True)
class Answer:
    hits: list[Hit]
    more: str | None = None
    notes: tuple[str, ...] = ()
    error: str = ""


def view(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm("sessions_app.view_message"):
        raise PermissionDenied
    given = {name: text for name in (*NAMES, *LISTS) if (text := request.GET.get(name, "").strip())}
    agents = list(Agent.objects.order_by("name")[:AGENTS])
    chosen = [agent for agent in agents if str(agent.pk) == request.GET.get("agent")]
    answer = found(chosen or agents, given, timezone.now()) if "q" in given else None
    shown = request.GET.copy()
    shown.pop("cursor", None)
    context = {
        **site.each_context(request),
        "title": "Search",
        "given": given,
        "agents": agents,
        "agent": chosen[0] if chosen else None,
        "choices": [(name, options, given.get(name, "")) for name, options in CHOICES.items()],
        "typed": [(name, label, hint, given.get(name, "")) for name, label, hint in TYPED],
        "filtered": bool(given.keys() - {"q", "cursor"}),
        "include_hidden": "include_hidden" in request.GET,
        "answer": answer,
        "address": shown.urlencode(),
    }
    return TemplateResponse(request, "console/search.html", context)


def found(agents: list[Agent], given: dict[str, Any], now: datetime) -> Answer:
    """Of one agent page by page; of several the newest, or the best, of all together."""
    try:
        several = {name: LISTED.findall(given[name]) for name in LISTS if name in given}
        query = SearchQuery(**{**given, **several}, limit=SHOWN, context=CONTEXT)
        answers = [_of(agent, query, now) for agent in agents]
    except ValidationError as refused:
        return Answer(
            [], error="; ".join(f"{wrong['loc'][-1]}: {wrong['msg']}" for wrong in refused.errors())
        )
    except Problem as problem:
        return Answer([], error=problem.detail)
    hits = sorted((pair for answer, _ in answers for pair in answer), key=lambda pair: pair[0], reverse=True)
    notes = {note for _, told in answers for note in told["notes"]}
    more = answers[0][1]["next_cursor"] if len(answers) == 1 else None
    return Answer([hit for _, hit in hits[:SHOWN]], more, tuple(sorted(notes)))


Ranked = tuple[tuple[float, datetime, int], Hit]


def _of(agent: Agent, query: SearchQuery, now: datetime) -> tuple[list[Ranked], dict[str, Any]]:
    caller = acting_for(agent, now)
    answer = search(caller, asked_of(caller, query, now))
    redactor = redactor_for(agent.redaction, "display")

    def clean(text: str) -> str:
        return text if redactor is None else redactor.text(text)

    def line(message: dict[str, Any]) -> Line:
        return Line(_who(message), clean(searched_text(orjson.dumps(message).decode()))[:AROUND])

    shown = []
    for item in answer["items"]:
        at = datetime.fromisoformat(item["created_at"])
        hit = Hit(
            agent.name, item["session_id"], item["session_key"], item["seq"], _who(item), at,
            marked(item["snippet"]), [line(near) for near in item["before"] or ()],
            [line(near) for near in item["after"] or ()],
        )  # fmt: skip
        shown.append(((item["score"] or 0.0, at, item["seq"]), hit))
    return shown, answer


def marked(snippet: str) -> SafeString:
    """What stands between the marks is what was found; the rest is text, whatever it says."""
    pieces: list[tuple[str, str]] = []
    for number, part in enumerate(snippet.split(MARKS[0])):
        inside, mark, outside = part.partition(MARKS[1])
        pieces += [(inside, outside)] if number and mark else [("", (MARKS[0] if number else "") + part)]
    return format_html_join("", "{}{}", ((_mark(inside), outside) for inside, outside in pieces))


def _mark(text: str) -> SafeString | str:
    return format_html_join("", "<mark>{}</mark>", [(text,)]) if text else ""


def _who(message: dict[str, Any]) -> str:
    kind = message["kind"]
    return str(message["role"] if kind == "message" else kind.replace("_", " "))
