"""Pages of the console that belong to no table."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from config.console import overview as first_page

Route = tuple[str, Callable[..., HttpResponseBase], str]


def routes() -> list[Route]:
    # What they import registers tables at the site, which imports this module.
    from config.console import searching, skill_page, skills

    return [
        # The theme has a page `search/` of its own.
        ("find/", searching.view, "console_search"),
        ("skills/", skills.view, "console_skills"),
        ("skills/one/", skill_page.view, "console_skill"),
    ]


def overview(request: HttpRequest) -> dict[str, Any]:
    return first_page.overview(request, timezone.now())
