"""A page for each row: what it tells, and what may be done to it, which is what its list can do."""

from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from sessions_app.admin.lists import LongList, ReadOnly


class Page(ReadOnly, LongList):
    page_template = ""
    # The actions of the list that are offered on the page, with what stands on their buttons.
    deeds: ClassVar[dict[str, str]] = {}
    dangerous: ClassVar[frozenset[str]] = frozenset()

    def told(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """What the template needs beside the row."""
        return {}

    def fitting(self, row: Any) -> set[str]:
        """The deeds that make sense for the row as it is."""
        return set(self.deeds)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.do_view)
        return [path("<int:pk>/do/<slug:deed>/", view, name=self._named("do")), *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        if row is None or request.method != "GET" or not self.has_view_permission(request, row):
            answer: HttpResponse = super().change_view(request, object_id, form_url, extra_context)
            return answer
        context = {
            **self.admin_site.each_context(request),
            "title": str(row),
            "opts": self.opts,
            "row": row,
            "buttons": self._buttons(request, row),
            "history": reverse(f"admin:{self._named('history')}", args=[row.pk]),
            **self.told(request, row),
        }
        return TemplateResponse(request, self.page_template, context)

    def do_view(self, request: HttpRequest, pk: int, deed: str) -> HttpResponse:
        """One row's action; the list's own check of rights decides who may."""
        if deed not in self.deeds or not self.has_view_permission(request):
            raise Http404
        allowed = self.get_actions(request).get(deed)
        if allowed is None or request.method != "POST":
            raise PermissionDenied
        rows = self.get_queryset(request).filter(pk=pk)
        if not rows.exists():
            raise Http404
        allowed[0](self, request, rows)
        gone = not rows.exists()
        names = [self._named("changelist")] if gone else [self._named("change"), pk]
        return redirect(f"admin:{names[0]}", *names[1:])

    def _buttons(self, request: HttpRequest, row: Any) -> list[dict[str, Any]]:
        allowed, fitting = self.get_actions(request), self.fitting(row)
        return [
            {
                "title": title,
                "address": reverse(f"admin:{self._named('do')}", args=[row.pk, deed]),
                "dangerous": deed in self.dangerous,
            }
            for deed, title in self.deeds.items()
            if deed in allowed and deed in fitting
        ]

    def _named(self, page: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{page}"
