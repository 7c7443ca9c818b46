"""Secrets are shown in the answer to the form that made them, and nowhere else: a message for the next page
would lie in a cookie or in the database until then. No page of the admin is kept by a browser."""

from collections.abc import Sequence

from django.contrib.admin import site
from django.http import HttpRequest
from django.template.response import TemplateResponse


def shown_once(
    request: HttpRequest, title: str, secrets: Sequence[tuple[str, str]], back: str
) -> TemplateResponse:
    given = {**site.each_context(request), "title": title, "secrets": secrets, "back": back}
    return TemplateResponse(request, "admin/secrets_once.html", given)
