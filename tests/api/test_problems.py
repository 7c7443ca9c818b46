"""Errors that no rule made: wrong addresses, wrong methods, our own failures."""

import logging

import pytest
from django.db import OperationalError

from sessions_app import sessions
from tests.conftest import Api, said


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/sessions", "GET, HEAD, OPTIONS, POST"),
        ("POST", "/messages/recent", "GET, HEAD, OPTIONS"),
        ("HEAD", "/resolve", "OPTIONS, POST"),
        ("TRACE", "/sessions", "GET, HEAD, OPTIONS, POST"),
        ("BREW", "/sessions", "GET, HEAD, OPTIONS, POST"),
    ],
)
def test_a_method_that_is_not_taken_is_405_with_those_that_are(
    api: Api, method: str, path: str, allowed: str
) -> None:
    response = api.send(method, path)
    assert response.status_code == 405
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.headers["Allow"] == allowed


@pytest.mark.parametrize("path", ["/sessions", "/sessions/{id}", "/sessions/{id}/history", "/openapi.json"])
def test_head_answers_as_get_does_without_the_body(api: Api, path: str) -> None:
    path = path.format(id=api.open())
    got, head = api.get(path), api.send("HEAD", path)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("Content-Type", "Content-Length"):
        assert head.headers[name] == got.headers[name]


def test_head_of_what_is_closed_is_refused(nobody: Api, api: Api, stranger: Api) -> None:
    session = api.open()
    assert nobody.send("HEAD", "/sessions").status_code == 401
    assert stranger.send("HEAD", f"/sessions/{session}").status_code == 404


def test_head_of_an_event_stream_ends_at_once(api: Api) -> None:
    response = api.send("HEAD", f"/sessions/{api.open()}/events")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/event-stream"
    assert b"".join(response) == b""


@pytest.mark.parametrize(
    ("path", "allowed"), [("/sessions", "GET, HEAD, OPTIONS, POST"), ("/resolve", "OPTIONS, POST")]
)
def test_options_tells_what_an_address_takes(nobody: Api, path: str, allowed: str) -> None:
    response = nobody.send("OPTIONS", path)
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["Allow"] == allowed
    assert {"Content-Type", "Content-Length"}.isdisjoint(response.headers)


@pytest.mark.parametrize("path", ["/nothing", "/sessions/", "/", "//sessions", "/../../admin/"])
def test_an_unknown_address_of_the_api_is_a_problem(api: Api, path: str) -> None:
    response = api.get(path)
    assert response.status_code == 404
    assert response.headers["Content-Type"] == "application/problem+json"
    assert said(response) == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "There is nothing at this address.",
    }


@pytest.mark.parametrize("given", ["a", "0f.A:/+=@-_" + "x" * 117])
def test_a_request_id_is_answered_as_it_came(api: Api, given: str) -> None:
    assert api.get("/sessions", X_Request_ID=given).headers["X-Request-ID"] == given


@pytest.mark.parametrize("given", ["", "x" * 129, "a b", "é", "a\r\nSet-Cookie: x=1", '"><script>', "a\x00"])
def test_an_odd_request_id_is_replaced(api: Api, given: str) -> None:
    made = api.get("/sessions", X_Request_ID=given).headers["X-Request-ID"]
    assert made != given
    assert len(made) == 32
    assert made.isalnum()


def test_an_unexpected_failure_is_a_500_whose_id_is_in_the_log(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("secret inner matters")

    monkeypatch.setattr(sessions, "listed", fail)
    with caplog.at_level(logging.ERROR):
        response = api.get("/sessions", X_Request_ID="find-me")
    assert response.status_code == 500
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.headers["X-Request-ID"] == "find-me"
    assert said(response) == {
        "type": "about:blank",
        "title": "Internal Server Error",
        "status": 500,
        "detail": "Something failed on our side. The log has the request id.",
        "request_id": "find-me",
    }
    assert "secret inner matters" in caplog.text
    assert any(
        "find-me" in str(record.msg) and "'status': 500" in str(record.msg) for record in caplog.records
    )


@pytest.mark.parametrize("where", ["sessions_app.sessions.listed", "gateway_app.auth.identify"])
def test_a_database_that_is_away_is_a_503_to_try_again(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise OperationalError("could not connect")

    monkeypatch.setattr(where, fail)
    with caplog.at_level(logging.ERROR):
        response = api.get("/sessions", X_Request_ID="find-me")
    assert response.status_code == 503
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.headers["Retry-After"] == "1"
    assert said(response)["request_id"] == "find-me"
    assert b"could not connect" not in response.content
    assert any(
        "find-me" in str(record.msg) and "could not connect" in str(record.msg) for record in caplog.records
    )
