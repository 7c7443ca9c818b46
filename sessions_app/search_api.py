"""Search over HTTP: parse, call one function, answer."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router

from sessions_app.access import caller, requires
from sessions_app.documents import answers, plain_text
from sessions_app.http import json_answer
from sessions_app.search.asking import asked_of
from sessions_app.search.filters import Filters
from sessions_app.search.find import Asked, found, search
from sessions_app.search.lines import lines
from sessions_app.search_schemas import HistoryLinesQuery, SearchOut, SearchQuery

router = Router(tags=["search"])


@router.get("/search", response=answers({200: SearchOut}))
@requires("read")
def search_everything(request: HttpRequest, query: Query[SearchQuery]) -> HttpResponse:
    """Search everything that was recorded: words, any part of a text, or its meaning."""
    who = caller(request)
    return json_answer(search(who, asked_of(who, query, timezone.now())))


@router.get(
    "/history", response=answers({200: None}), openapi_extra=plain_text("What was found, a line each.")
)
@requires("read")
def search_for_prompt(request: HttpRequest, query: Query[HistoryLinesQuery]) -> HttpResponse:
    """The same as plain text, for an agent's prompt: newest first, a line for each message."""
    who = caller(request)
    asked = Asked(query.q, "text", Filters(role=query.role), None, query.limit, query.cursor)
    return HttpResponse(lines(query.q, found(who, asked)), content_type="text/plain; charset=utf-8")
