"""The check that stands before every route of the API."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja.security.base import AuthBase

from gateway_app import rate_limit
from gateway_app.keys import identify
from sessions_app.access import Caller
from sessions_app.problems import NotFound


def authenticate(headers: Mapping[str, Any], now: datetime) -> Caller:
    """By the headers as the server hands them over."""
    caller = identify(headers.get("HTTP_AUTHORIZATION", ""), headers.get("HTTP_X_DAYBOOK_AGENT"), now)
    rate_limit.check(caller.key_id, now)
    return caller


class KeyAuth(AuthBase):
    openapi_type = "http"
    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> Caller:
        caller = authenticate(request.META, timezone.now())
        if "\x00" in request.path_info:
            # Nothing has such a name, and PostgreSQL cannot even be asked for it.
            raise NotFound("There is nothing at this address.")
        return caller
