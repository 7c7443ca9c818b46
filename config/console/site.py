from typing import Any

from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from unfold.sites import UnfoldAdminSite

from config.console import pages


class ConsoleSite(UnfoldAdminSite):  # type: ignore[misc]  # the theme ships no types
    """The admin with a first page of its own."""

    index_title = "Overview"

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        # The theme would write its colours into the page, where the policy allows no styles.
        return {**super().each_context(request), "colors": None, "border_radius": None}

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        context = pages.overview(request) if self.get_app_list(request) else {}
        self.index_template = None
        answer: TemplateResponse = super().index(request, {**context, **(extra_context or {})})
        return answer

    def extra_urls(self) -> list[URLPattern]:
        return [path(route, self.admin_view(view), name=name) for route, view, name in pages.routes()]
