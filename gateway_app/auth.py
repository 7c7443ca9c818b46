"""The check that stands before every route of the API."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from django.http import HttpRequest
from django.utils import timezone
from ninja.security.base import AuthBase

from gateway_app import rate_limit
from gateway_app.keys import identify, recall
from sessions_app.access import Caller, Outdated
from sessions_app.problems import NotFound

Acted = TypeVar("Acted")


def authenticate(headers: Mapping[str, Any], now: datetime) -> Caller:
    """By the headers as the server hands them over."""
    caller = identify(*_given(headers), now)
    rate_limit.check(caller.key_id, now)
    return caller


def acting(headers: Mapping[str, Any], now: datetime, act: Callable[[Caller], Acted]) -> Acted:
    """The same for what acts by one statement that checks the caller's proof: mostly nobody is looked up."""
    caller = recall(*_given(headers), now) or identify(*_given(headers), now)
    rate_limit.check(caller.key_id, now)
    try:
        return act(caller)
    except Outdated:
        return act(identify(*_given(headers), now))


def _given(headers: Mapping[str, Any]) -> tuple[str, str | None]:
    return headers.get("HTTP_AUTHORIZATION", ""), headers.get("HTTP_X_DAYBOOK_AGENT")


class KeyAuth(AuthBase):
    openapi_type = "http"
    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> Caller:
        caller = authenticate(request.META, timezone.now())
        if "\x00" in request.path_info:
            # Nothing has such a name, and PostgreSQL cannot even be asked for it.
            raise NotFound("There is nothing at this address.")
        return caller
