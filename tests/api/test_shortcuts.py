"""The short way past the middleware against Django's own way: nobody can tell which one answered."""

import io
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import orjson
import pytest
import time_machine
from django.conf import LazySettings
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import OperationalError, close_old_connections, connection
from django.test import Client, RequestFactory

from config import shortcuts
from config.wsgi import application
from gateway_app.auth import acting
from sessions_app.access import Caller
from sessions_app.models import Message, Session
from tests.conftest import Api

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOBODY = "00000000-0000-7000-8000-000000000000"
HELLO = b'{"role": "user", "content": "hello"}'
ROUTE = "/api/v1/sessions/<session_id>/"

the_long_way = WSGIHandler()
the_long_way.load_middleware()


@dataclass(frozen=True)
class Said:
    status: str
    headers: dict[str, str]
    body: bytes


@contextmanager
def connection_of_the_test() -> Iterator[None]:
    """A request ends by letting go of its connection; here it holds the transaction of the test."""
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    try:
        with patch.object(shortcuts, "_give_back"):
            yield
    finally:
        request_started.connect(close_old_connections)
        request_finished.connect(close_old_connections)


def send(
    server: WSGIHandler, method: str, path: str, query: str = "", body: bytes = b"", **headers: str
) -> Said:
    environ: dict[str, Any] = RequestFactory().request().environ
    environ |= {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query, **headers}
    environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    started: list[tuple[str, list[tuple[str, str]]]] = []

    def start(status: str, pairs: list[tuple[str, str]], _error: object = None, /) -> Any:
        started.append((status, pairs))

    answer: Any = server(environ, start)
    try:
        content = b"".join(answer)
    finally:
        if hasattr(answer, "close"):
            answer.close()
    ((status, pairs),) = started
    assert len({name.lower() for name, _ in pairs}) == len(pairs)
    return Said(status, dict(pairs), content)


@pytest.fixture(autouse=True)
def noon() -> Iterator[None]:
    with time_machine.travel(NOON, tick=False):
        yield


@pytest.fixture
def short_ones(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the requests that took the short way."""
    taken: list[str] = []

    def note(environ: dict[str, Any], now: datetime, act: Callable[[Caller], Any]) -> Any:
        taken.append(environ["PATH_INFO"])
        return acting(environ, now, act)

    monkeypatch.setattr(shortcuts, "acting", note)
    return taken


ask = connection_of_the_test()(send)


@dataclass(frozen=True)
class Pair:
    """Two sessions with the same record: what is sent to one the short way goes to the other the long way."""

    api: Api
    short: str
    long: str

    def ask(
        self,
        method: str,
        place: str,
        query: str = "",
        body: bytes = b"",
        *,
        session: str | None = None,
        **headers: str,
    ) -> tuple[Said, Said]:
        given = {
            "HTTP_AUTHORIZATION": f"Bearer {self.api.secret}",
            "CONTENT_TYPE": "application/json",
        } | headers
        given = {name: value for name, value in given.items() if value}
        found = []
        for server, own in ((application, self.short), (the_long_way, self.long)):
            path = f"/api/v1/sessions/{session or own}/{place}"
            found.append(_without_names(ask(server, method, path, query, body, **given), own))
        return found[0], found[1]


def _without_names(said: Said, session: str) -> Said:
    headers = {name: value for name, value in said.headers.items() if name not in ("X-Request-ID", "Date")}
    body = re.sub(rb'"key":"\w+"', b'"key":"-"', said.body.replace(session.encode(), b"-"))
    return Said(said.status, headers, body)


@pytest.fixture
def pair(api: Api) -> Pair:
    short, long = api.open("short"), api.open("long1")
    for session in (short, long):
        api.append(session, {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"})
    return Pair(api, short, long)


def same(answers: tuple[Said, Said]) -> Said:
    short, long = answers
    assert short == long
    assert ("Content-Length" in short.headers) == (not short.status.startswith("204"))
    return short


TOO_BIG = b'{"role": "user", "content": "' + b"x" * 8 * 1024 * 1024 + b'"}'


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (HELLO, {}, 201),
        (b'{"messages": [' + HELLO + b"," + HELLO + b"]}", {}, 201),
        (HELLO, {"CONTENT_TYPE": "application/vnd.x+json; charset=utf-8"}, 201),
        (HELLO, {"HTTP_AUTHORIZATION": ""}, 401),
        (HELLO, {"HTTP_AUTHORIZATION": "Bearer dbk_wrong"}, 401),
        (HELLO, {"HTTP_AUTHORIZATION": "Basic eDp5"}, 401),
        (HELLO, {"HTTP_X_DAYBOOK_AGENT": "main"}, 201),
        (HELLO, {"HTTP_X_DAYBOOK_AGENT": "other"}, 404),
        (HELLO, {"CONTENT_TYPE": "text/plain"}, 415),
        (TOO_BIG, {}, 413),
        (b"", {}, 422),
        (b"{", {}, 400),
        (b"\xff", {}, 400),
        (b"[]", {}, 422),
        (b'{"messages": []}', {}, 422),
        (b'{"role": "user", "content": "a\\u0000b"}', {}, 422),
        (b'{"role": "user", "content": "a\x00b"}', {}, 422),
        (b'{"role": "nobody", "content": "x"}', {}, 422),
        (b'{"role": "user", "content": "x", "colour": "red"}', {}, 201),
        (HELLO, {"HTTP_IDEMPOTENCY_KEY": "x" * 256}, 422),
    ],
)
def test_an_append_is_answered_alike(
    pair: Pair, short_ones: list[str], body: bytes, headers: dict[str, str], status: int
) -> None:
    said = same(pair.ask("POST", "messages", body=body, **headers))
    assert said.status.startswith(str(status)), said.body
    is_plain = headers.get("CONTENT_TYPE", "application/json") == "application/json"
    assert len(short_ones) == (is_plain and body not in (b"", TOO_BIG))
    stored = [
        list(Message.objects.filter(session__uid=uid).order_by("seq").values_list("seq", "role", "body"))
        for uid in (pair.short, pair.long)
    ]
    assert stored[0] == stored[1]
    assert (len(stored[0]) > 2) == (status == 201)


@pytest.mark.parametrize(
    ("query", "status", "is_short"),
    [
        ("", 200, True),
        ("max_messages=1", 200, True),
        ("max_messages=%31&max_tokens=5&timestamps=true&format=raw", 200, True),
        ("format=anthropic", 200, True),
        ("timestamps=yes", 200, True),
        ("max_messages=+1", 200, True),
        ("&&max_messages=1&", 200, True),
        ("max_messages=1&max_messages=2", 200, False),
        ("max_messages=0", 422, False),
        ("max_messages=", 422, False),
        ("max_messages=1e3", 422, False),
        ("max_messages", 422, False),
        ("max_tokens=-1", 422, False),
        ("timestamps=perhaps", 422, False),
        ("format=%00", 422, False),
        ("max_messages=1%00", 422, False),
        ("max_messages=\xa01", 200, True),
        ("max_messages=\xc2\xa01", 200, False),
        ("format=openai;max_messages=1", 422, False),
        ("colour=red", 422, False),
        ("max_messages=0&colour=red", 422, False),
        ("%00=1", 422, False),
        ("%FF=%FF", 422, False),
        ("&".join(f"a{n}=1" for n in range(1001)), 400, False),
    ],
)
def test_a_window_is_answered_alike(
    pair: Pair, short_ones: list[str], query: str, status: int, is_short: bool
) -> None:
    said = same(pair.ask("GET", "history", query))
    assert said.status.startswith(str(status)), said.body
    assert len(short_ones) == is_short


@pytest.mark.parametrize("headers", [{"HTTP_AUTHORIZATION": ""}, {"HTTP_AUTHORIZATION": "Bearer dbk_wrong"}])
def test_no_window_is_shown_without_a_key(pair: Pair, short_ones: list[str], headers: dict[str, str]) -> None:
    for query in ("", "max_messages=0"):
        said = same(pair.ask("GET", "history", query, b"", **headers))
        assert (said.status, said.headers["WWW-Authenticate"]) == ("401 Unauthorized", "Bearer")
    assert len(short_ones) == 1


@pytest.mark.parametrize(("method", "place", "body"), [("POST", "messages", HELLO), ("GET", "history", b"")])
@pytest.mark.parametrize("session", [NOBODY, "-" * 36, NOBODY[:-1] + "-"])
def test_a_session_that_is_not_there_is_answered_alike(
    pair: Pair, short_ones: list[str], *, method: str, place: str, body: bytes, session: str
) -> None:
    assert same(pair.ask(method, place, body=body, session=session)).status == "404 Not Found"
    assert len(short_ones) == 1


def test_what_a_key_may_not_do_is_answered_alike(
    pair: Pair, reader: Api, stranger: Api, short_ones: list[str]
) -> None:
    read_only = Pair(reader, pair.short, pair.long)
    assert same(read_only.ask("GET", "history")).status == "200 OK"
    for body in (HELLO, b"{"):
        assert same(read_only.ask("POST", "messages", body=body)).status == "403 Forbidden"
    foreign = Pair(stranger, pair.short, pair.long)
    for method, place, body in (("GET", "history", b""), ("POST", "messages", HELLO)):
        assert same(foreign.ask(method, place, body=body)).status == "404 Not Found"
    assert len(short_ones) == 5
    assert Message.objects.count() == 4


def test_an_ended_session_is_answered_alike(pair: Pair, short_ones: list[str]) -> None:
    Session.objects.update(ended_at=NOON, end_reason="reset")
    assert same(pair.ask("POST", "messages", body=HELLO)).status == "409 Conflict"
    assert same(pair.ask("GET", "history")).status == "200 OK"
    assert len(short_ones) == 2


def test_a_repeated_append_is_answered_alike(pair: Pair, short_ones: list[str]) -> None:
    first = same(pair.ask("POST", "messages", body=HELLO, HTTP_IDEMPOTENCY_KEY="once"))
    again = same(pair.ask("POST", "messages", body=HELLO, HTTP_IDEMPOTENCY_KEY="once"))
    assert "Idempotent-Replayed" not in first.headers
    assert (again.status, again.body, again.headers["Idempotent-Replayed"]) == (
        first.status,
        first.body,
        "true",
    )
    other = same(pair.ask("POST", "messages", body=b"{}", HTTP_IDEMPOTENCY_KEY="once"))
    assert other.status == "422 Unprocessable Entity"
    assert len(short_ones) == 3
    assert Message.objects.count() == 6


def test_what_was_sent_one_way_is_replayed_the_other(pair: Pair) -> None:
    path = f"/api/v1/sessions/{pair.short}/messages"
    headers = {
        "HTTP_AUTHORIZATION": f"Bearer {pair.api.secret}",
        "HTTP_IDEMPOTENCY_KEY": "once",
        "CONTENT_TYPE": "application/json",
    }
    first = ask(application, "POST", path, body=HELLO, **headers)
    again = ask(the_long_way, "POST", path, body=HELLO, **headers)
    assert (again.body, again.headers["Idempotent-Replayed"]) == (first.body, "true")
    assert Message.objects.count() == 5


@pytest.mark.parametrize(
    ("method", "place", "query", "status"),
    [
        ("GET", "messages", "", 200),
        ("GET", "messages", "limit=1", 200),
        ("HEAD", "history", "", 200),
        ("OPTIONS", "history", "", 204),
        ("POST", "history", "", 405),
        ("PUT", "messages", "", 405),
        ("DELETE", "messages", "", 405),
        ("BREW", "messages", "", 405),
        ("GET", "history/", "", 404),
        ("GET", "history\n", "", 404),
        ("POST", "messages", "colour=red", 201),
    ],
)
def test_whatever_is_not_plain_takes_the_long_way(
    pair: Pair, short_ones: list[str], *, method: str, place: str, query: str, status: int
) -> None:
    body = HELLO if method == "POST" else b""
    assert same(pair.ask(method, place, query, body)).status.startswith(str(status))
    assert short_ones == []


def test_too_many_requests_are_answered_alike(
    pair: Pair, short_ones: list[str], settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RATE_LIMIT = 1
    monkeypatch.setattr("gateway_app.rate_limit._count", lambda name: 2)
    said = same(pair.ask("GET", "history"))
    assert (said.status, said.headers["Retry-After"]) == ("429 Too Many Requests", "60")
    assert len(short_ones) == 1


@pytest.mark.parametrize(
    ("failure", "status"),
    [(RuntimeError("inner matters"), 500), (OperationalError("inner matters"), 503), (KeyError("x"), 500)],
)
@pytest.mark.parametrize(
    ("where", "method", "place"),
    [
        ("sessions_app.history.window", "GET", "history"),
        ("sessions_app.recording.storage", "POST", "messages"),
        ("gateway_app.auth.rate_limit.check", "GET", "history"),
    ],
)
def test_our_own_failure_is_answered_alike(
    pair: Pair,
    short_ones: list[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    caplog: pytest.LogCaptureFixture,
    failure: Exception,
    status: int,
    where: str,
    method: str,
    place: str,
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise failure

    monkeypatch.setattr(where, fail)
    body = HELLO if method == "POST" else b""
    with caplog.at_level(logging.ERROR):
        said = same(pair.ask(method, place, body=body, HTTP_X_REQUEST_ID="find-me"))
    assert said.status.startswith(str(status))
    assert said.headers["Content-Type"] == "application/problem+json"
    assert orjson.loads(said.body)["request_id"] == "find-me"
    assert b"inner matters" not in said.body
    requests = [str(record.msg) for record in caplog.records if record.name == "daybook.request"]
    assert len(requests) == 2
    assert all("find-me" in line and f"'status': {status}" in line for line in requests)
    assert len(short_ones) == 1


def test_a_request_id_is_taken_or_made_and_is_in_the_log(
    pair: Pair, short_ones: list[str], settings: LazySettings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ACCESS_LOG = True
    path = f"/api/v1/sessions/{pair.short}/history"
    auth = f"Bearer {pair.api.secret}"
    with caplog.at_level(logging.INFO):
        given = ask(application, "GET", path, HTTP_AUTHORIZATION=auth, HTTP_X_REQUEST_ID="find-me")
        made = ask(application, "GET", path, HTTP_AUTHORIZATION=auth, HTTP_X_REQUEST_ID="not one")
    assert given.headers["X-Request-ID"] == "find-me"
    assert re.fullmatch("[0-9a-f]{32}", made.headers["X-Request-ID"])
    lines: list[Any] = [record.msg for record in caplog.records if record.name == "daybook.request"]
    assert [(line["method"], line["path"], line["status"], line["request_id"]) for line in lines] == [
        ("GET", path, 200, "find-me"),
        ("GET", path, 200, made.headers["X-Request-ID"]),
    ]
    assert len(short_ones) == 2


def counted(method: str, place: str, status: int) -> float:
    series = f'daybook_http_requests_total{{method="{method}",route="{ROUTE}{place}",status="{status}"}}'
    text = Client().get("/metrics").content.decode()
    found = [line for line in text.splitlines() if line.startswith(series)]
    return float(found[0].rsplit(" ", 1)[1]) if found else 0.0


@pytest.mark.parametrize(
    ("method", "place", "body", "status"),
    [("POST", "messages", HELLO, 201), ("POST", "messages", b"{", 400), ("GET", "history", b"", 200)],
)
def test_both_ways_count_under_the_pattern_of_the_route(
    pair: Pair, short_ones: list[str], *, method: str, place: str, body: bytes, status: int
) -> None:
    before = counted(method, place, status)
    pair.ask(method, place, body=body)
    assert counted(method, place, status) == before + 2
    assert len(short_ones) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fails", [False, True])
def test_the_connection_is_given_back(api: Api, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        Session.objects.count()
        raise RuntimeError

    path = f"/api/v1/sessions/{api.open()}/history"
    if fails:
        monkeypatch.setattr("sessions_app.history.window", fail)
    said = send(application, "GET", path, HTTP_AUTHORIZATION=f"Bearer {api.secret}")
    assert said.status.startswith("500" if fails else "200")
    assert not connection.in_atomic_block
    # PostgreSQL's goes back to the pool; SQLite's stays with its thread, which is the only one to use it.
    assert (connection.connection is None) == (connection.vendor == "postgresql")
