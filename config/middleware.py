"""Middleware. A request of the API passes only the first; what the admin needs stands aside for it."""

import re
import time
import uuid
from typing import Any

import structlog
import whitenoise.middleware
from django.conf import settings
from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest, HttpResponseBase
from django.middleware import clickjacking, common, csrf, security

from config.methods import Next, with_every_method
from config.problems import API, PAGE, as_problem, is_told_in_problems
from config.telemetry import observe_request

SLOW_SECONDS = 1.0
REQUEST_ID = re.compile(r"[\w.:/+=@-]{1,128}\Z", re.ASCII)

log = structlog.get_logger("daybook.request")


class RequestLog:
    """The request's id, its metrics and its line in the log; errors told to programs become problems."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response
        self.get_answer = with_every_method(get_response)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        request_id = request_id_of(request.META.get("HTTP_X_REQUEST_ID", ""))
        structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            of_api = request.path_info.startswith(API)
            response = (self.get_answer if of_api else self.get_response)(request)
            if response.status_code >= 400 and is_told_in_problems(request):
                response = as_problem(request, response)
            response.headers["X-Request-ID"] = request_id
            if response.status_code == 204:
                # It has no body, and so neither length nor type.
                del response.headers["Content-Type"]
            elif not response.streaming:
                response.headers.setdefault("Content-Length", str(len(response.content)))  # type: ignore[attr-defined]
            match = request.resolver_match
            route = match.route if match is not None else None
            seconds = time.perf_counter() - started
            note_request(request.method or "", route, request.path, response.status_code, seconds)
            return response
        finally:
            structlog.contextvars.clear_contextvars()


def note_request(method: str, route: str | None, path: str, status: int, seconds: float) -> None:
    method = method if method in _METHODS else "(other)"
    observe_request(method, "(no route)" if route is None else f"/{route}", status, seconds)
    if status >= 500 or seconds > SLOW_SECONDS or settings.ACCESS_LOG:
        level = log.error if status >= 500 else log.info
        level("request", method=method, path=path, status=status, seconds=round(seconds, 4))


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def request_id_of(given: str) -> str:
    return given if REQUEST_ID.match(given) else uuid.uuid4().hex


class _OutsideApi:
    def __call__(self, request: HttpRequest) -> Any:
        if request.path_info.startswith(API):
            return self.get_response(request)  # type: ignore[attr-defined]
        return super().__call__(request)  # type: ignore[misc]


class SecurityMiddleware(_OutsideApi, security.SecurityMiddleware):
    pass


class WhiteNoiseMiddleware(_OutsideApi, whitenoise.middleware.WhiteNoiseMiddleware):  # type: ignore[misc]
    pass


class SessionMiddleware(_OutsideApi, sessions.SessionMiddleware):
    pass


class CommonMiddleware(_OutsideApi, common.CommonMiddleware):
    pass


class CsrfViewMiddleware(_OutsideApi, csrf.CsrfViewMiddleware):
    pass


class AuthenticationMiddleware(_OutsideApi, auth.AuthenticationMiddleware):
    pass


class MessageMiddleware(_OutsideApi, messages.MessageMiddleware):
    pass


class XFrameOptionsMiddleware(_OutsideApi, clickjacking.XFrameOptionsMiddleware):
    pass


class ContentPolicy:
    """What a page may load and run: this server's own files, nothing written into the page itself."""

    POLICY = "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        # Of the API only its interactive page is shown in a browser.
        if not request.path_info.startswith(API) or response.headers.get("Content-Type", "").startswith(PAGE):
            response.headers.setdefault("Content-Security-Policy", self.POLICY)
        return response
