"""What a request passes on its way: little for the API, everything that the admin needs for pages."""

import logging
from typing import Any

import pytest
from django.conf import LazySettings
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from config import middleware
from tests.conftest import Api


def logged(caplog: pytest.LogCaptureFixture) -> list[Any]:
    return [record.msg for record in caplog.records if record.name == "daybook.request"]


def test_a_request_of_the_api_passes_nothing_that_the_admin_needs(api: Api) -> None:
    response = api.get("/sessions")
    assert response.status_code == 200
    assert not response.cookies
    assert {"Set-Cookie", "Vary", "X-Frame-Options"}.isdisjoint(response.headers)
    request = response.wsgi_request  # type: ignore[attr-defined]
    assert not hasattr(request, "session")
    assert not hasattr(request, "user")


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/admin/login/"])
def test_pages_carry_the_headers_that_protect_a_browser(client: Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 200
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "same-origin"
    assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"


@pytest.mark.django_db
def test_the_login_of_operators_is_guarded_against_forged_forms() -> None:
    client = Client(enforce_csrf_checks=True)
    assert "csrftoken" in client.get("/admin/login/").cookies
    assert client.post("/admin/login/", {"username": "a", "password": "b"}).status_code == 403


def test_the_start_page_leads_everywhere(client: Client) -> None:
    page = client.get("/").content.decode()
    for target in ("/admin/", "/api/v1/docs", "/api/v1/openapi.json", "/readyz", "/metrics"):
        assert f'href="{target}"' in page


BROWSER = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"


def test_an_unknown_page_is_a_404_with_a_way_home(client: Client) -> None:
    response = client.get("/nothing-here", headers={"Accept": BROWSER})
    assert response.status_code == 404
    assert "<h1>404</h1>" in response.content.decode()
    assert "There is nothing at this address." in response.content.decode()
    assert 'href="/"' in response.content.decode()


def test_a_page_that_fails_says_nothing_of_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("inner matters")

    monkeypatch.setattr("config.telemetry.exposition", fail)
    program = Client(raise_request_exception=False).get("/metrics")
    assert program.status_code == 500
    assert program.headers["Content-Type"] == "application/problem+json"
    monkeypatch.setattr("config.urls.render", fail)
    person = Client(raise_request_exception=False).get("/", headers={"Accept": BROWSER})
    assert person.status_code == 500
    assert "<h1>500</h1>" in person.content.decode()
    assert b"inner matters" not in program.content + person.content


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing-here", 404),
        ("POST", "/nothing-here", 404),
        ("GET", "/healthz/", 404),
        ("GET", "/static/none.css", 404),
        ("POST", "/", 405),
        ("POST", "/healthz", 405),
        ("DELETE", "/readyz", 405),
        ("PUT", "/metrics", 405),
        ("POST", "/api/v1/docs", 405),
        ("DELETE", "/api/v1/openapi.json", 405),
    ],
)
def test_who_asks_for_no_page_is_told_in_a_problem(method: str, path: str, status: int) -> None:
    response = Client(enforce_csrf_checks=True).generic(method, path, headers={"Accept": "*/*"})
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["status"] == status
    assert ("Allow" in response.headers) == (status == 405)


def test_a_form_that_may_be_forged_is_refused_with_a_page_of_ours() -> None:
    response = Client(enforce_csrf_checks=True).post("/admin/login/", {}, headers={"Accept": BROWSER})
    assert response.status_code == 403
    assert "The form is out of date." in response.content.decode()


def answer(status: int) -> Any:
    def get_response(request: HttpRequest) -> HttpResponse:
        return HttpResponse(b"four", status=status)

    return middleware.RequestLog(get_response)(
        RequestFactory().get("/page?secret=1", headers={"Accept": BROWSER})
    )


@pytest.mark.parametrize(("status", "lines"), [(200, 0), (404, 0), (500, 1), (503, 1)])
def test_only_failures_are_logged_among_quick_requests(
    caplog: pytest.LogCaptureFixture, status: int, lines: int
) -> None:
    with caplog.at_level(logging.INFO):
        assert answer(status).headers["Content-Length"] == "4"
    found = logged(caplog)
    assert len(found) == lines
    for line in found:
        assert (line["level"], line["path"], line["status"]) == ("error", "/page", status)


def test_a_slow_request_is_logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "SLOW_SECONDS", -1.0)
    with caplog.at_level(logging.INFO):
        answer(200)
    [line] = logged(caplog)
    assert (line["level"], line["method"], line["status"]) == ("info", "GET", 200)


def test_every_request_is_logged_where_that_is_asked_for(
    caplog: pytest.LogCaptureFixture, settings: LazySettings
) -> None:
    settings.ACCESS_LOG = True
    with caplog.at_level(logging.INFO):
        made = answer(200).headers["X-Request-ID"]
    [line] = logged(caplog)
    assert line["request_id"] == made
