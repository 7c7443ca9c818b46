"""Pages of the console that belong to no table."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from config.console import overview as first_page

ROUTES: list[tuple[str, Callable[..., HttpResponseBase], str]] = []


def overview(request: HttpRequest) -> dict[str, Any]:
    return first_page.overview(request, timezone.now())
