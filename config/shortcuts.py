"""A shorter way for the two requests that agents send all day: append, and read a window.

Django's way (request and response objects, signals, middleware, the URL resolver, the router) takes longer
than the work itself. Here the same functions are called from the server's own words. Whatever is not plain
takes the long way, and so does whatever fails, to be raised again there: errors are told in one place. A test
compares the answers of both ways.
"""

import re
import time
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl

import structlog
from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.db import DEFAULT_DB_ALIAS, connections
from django.http import HttpRequest, HttpResponseBase
from django.urls import ResolverMatch, resolve
from django.utils import timezone
from pydantic import ValidationError

from config.api import api
from config.middleware import RequestLog, note_request, request_id_of
from gateway_app.auth import acting
from sessions_app import history, sessions
from sessions_app.access import Caller, check
from sessions_app.commits import commit
from sessions_app.http import json_of, made, once_for
from sessions_app.idempotency import Answer, identify
from sessions_app.recording import announce, append, entries_of
from sessions_app.schemas import HistoryQuery

Chain = Callable[[HttpRequest], HttpResponseBase]
Environ = dict[str, Any]

PATH = re.compile(r"/api/v1/sessions/([0-9a-f-]{36})/(messages|history)\Z")
ANY_ID = "00000000-0000-0000-0000-000000000000"
JSON = "application/json"
STATUS = {200: "200 OK", 201: "201 Created"}
# What a request failed with here, on its way to be told in the usual form.
FAILURE = "daybook.failure"
BODY = "daybook.body"


class Reply(NamedTuple):
    status: str
    headers: list[tuple[str, str]]
    body: bytes


class Plain(NamedTuple):
    """A request that goes the short way."""

    route: str
    method: str
    work: Callable[[Caller, datetime], Answer]


def short_answer(environ: Environ) -> Reply | None:
    """None: the long way answers, be it with the failure that is left in `environ`."""
    plain = _plain(environ)
    if plain is None:
        return None
    started = time.perf_counter()
    request_id = environ["HTTP_X_REQUEST_ID"] = request_id_of(environ.get("HTTP_X_REQUEST_ID", ""))
    structlog.contextvars.bind_contextvars(request_id=request_id)
    try:
        now = timezone.now()
        answer = acting(environ, now, lambda caller: plain.work(caller, now))
        seconds = time.perf_counter() - started
        note_request(plain.method, _match(plain.route).route, environ["PATH_INFO"], answer.status, seconds)
    except Exception as error:  # noqa: BLE001 - raised again on the long way
        environ[FAILURE] = error
        return None
    finally:
        structlog.contextvars.clear_contextvars()
        _give_back()
    return _reply(answer, request_id)


def _give_back() -> None:
    """What Django does after each request, for the one connection that there is."""
    database = connections[DEFAULT_DB_ALIAS]
    if database.connection is not None:
        database.close_if_unusable_or_obsolete()


def _reply(answer: Answer, request_id: str) -> Reply:
    headers = [
        ("Content-Type", JSON), ("X-Request-ID", request_id), ("Content-Length", str(len(answer.body)))
    ]  # fmt: skip
    if answer.replayed:
        headers.append(("Idempotent-Replayed", "true"))
    return Reply(STATUS[answer.status], headers, answer.body)


def with_failures(long_way: Chain) -> Chain:
    """Django's chain, for requests that failed on the short way too."""
    raising = cast("Chain", convert_exception_to_response(_raise_again))
    telling = cast("Chain", convert_exception_to_response(RequestLog(raising)))

    def chain(request: HttpRequest) -> HttpResponseBase:
        if FAILURE not in request.META:
            return long_way(request)
        request.resolver_match = _match(request.path_info.rpartition("/")[2])
        return telling(request)

    return chain


def _raise_again(request: HttpRequest) -> HttpResponseBase:
    return api.on_exception(request, request.META[FAILURE])


def _plain(environ: Environ) -> Plain | None:
    path = PATH.match(environ["PATH_INFO"])
    if path is None:
        return None
    session_id, route = path[1], path[2]
    method, raw_query = environ["REQUEST_METHOD"], environ.get("QUERY_STRING", "")
    if method == "POST" and route == "messages" and not raw_query and _is_plain_body(environ):
        return Plain(route, method, lambda who, now: _append(environ, session_id, who, now))
    if method == "GET" and route == "history":
        query = _query(raw_query)
        if query is not None:
            return Plain(route, method, lambda who, _: _window(session_id, query, who))
    return None


def _is_plain_body(environ: Environ) -> bool:
    length = environ.get("CONTENT_LENGTH", "")
    return (
        environ.get("CONTENT_TYPE") == JSON
        and length.isascii()
        and length.isdigit()
        and 0 < int(length) <= settings.MAX_BODY_BYTES
    )


@lru_cache(maxsize=256)
def _query(raw: str) -> HistoryQuery | None:
    """None for whatever is unknown, doubled or wrong: the long way says what."""
    given = parse_qsl(raw, keep_blank_values=True)
    found = dict(given)
    if len(found) != len(given) or not found.keys() <= HistoryQuery.model_fields.keys():
        return None
    try:
        return HistoryQuery.model_validate(found)
    except ValidationError:
        return None


def _append(environ: Environ, session_id: str, who: Caller, now: datetime) -> Answer:
    check(who, "write")
    uid = sessions.parse_uid(session_id)
    raw = _body(environ)
    entries = entries_of(json_of(raw, int(environ["CONTENT_LENGTH"])), who, now)
    key = environ.get("HTTP_IDEMPOTENCY_KEY")

    def work() -> Answer:
        return made(append(who, uid, entries, now), 201, uid)

    if key is None:
        answer = commit(work, one_statement=True)
    else:
        path = environ.get("SCRIPT_NAME", "") + environ["PATH_INFO"]
        answer = once_for(identify(who, path, key, raw), work, now)
    if not answer.replayed:
        announce(session_id, entries)
    return answer


def _body(environ: Environ) -> bytes:
    """Read once, even if the work has to be done again for a caller who was looked up anew."""
    if BODY not in environ:
        environ[BODY] = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    raw: bytes = environ[BODY]
    return raw


def _window(session_id: str, query: HistoryQuery, who: Caller) -> Answer:
    check(who, "read")
    return made(history.window(who, sessions.parse_uid(session_id), **query.asked()), 200)


_found: dict[str, ResolverMatch] = {}


def _match(route: str) -> ResolverMatch:
    """What the resolver would have found: the metrics name requests by it."""
    if route not in _found:
        _found[route] = resolve(f"/api/v1/sessions/{ANY_ID}/{route}")
    return _found[route]
