"""Lists that cost the same whether a table has a thousand rows or a hundred million."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin as ThemedModelAdmin
from unfold.admin import TabularInline as ThemedTabularInline
from unfold.views import ChangeList

from sessions_app import paging
from sessions_app.problems import Problem

if TYPE_CHECKING:
    # The theme ships no types; to the checker its classes are those that they are made of.
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
    from django.contrib.admin.views.main import ChangeList as Changes
else:
    ModelAdmin, TabularInline, Changes = ThemedModelAdmin, ThemedTabularInline, ChangeList

OLDER, NEWER = "older", "newer"
# For forms that start something: there is one way to send them.
ONCE = {"show_save_and_add_another": False, "show_save_and_continue": False}


class KeysetList(Changes):
    """A page is found by the row it begins behind: nothing is counted, all pages cost the same."""

    older: str | None = None
    newer: str | None = None
    begins: bool = True

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        given: dict[str, Any] = super().get_filters_params(params)
        return {name: value for name, value in given.items() if name not in (OLDER, NEWER)}

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        # Links to another filter begin at its first page.
        self._request = request
        self._cursors = {name: self.params.pop(name, None) for name in (OLDER, NEWER)}
        return super().get_queryset(request, exclude_parameters)

    def get_results(self, request: HttpRequest) -> None:
        backwards = self._cursors[NEWER] is not None
        place = self._place(self._cursors[NEWER] or self._cursors[OLDER])
        size = self.list_per_page
        found = list(self._from(place, backwards)[: size + 1])
        more, rows = len(found) > size, found[:size]
        self.result_list = rows[::-1] if backwards else rows
        self.begins = more is False if backwards else place is None
        self._link(more, backwards)
        self.paginator = Paginator(self.result_list, size)
        self.result_count = self.full_result_count = len(rows)
        self.show_full_result_count, self.show_admin_actions = False, True
        self.can_show_all, self.multi_page = False, False

    @property
    def chips(self) -> list[tuple[str, str, str]]:
        """What the list is narrowed to, each with the way to the list without it."""
        found = [(str(spec.title), list(spec.choices(self))) for spec in self.filter_specs]
        chosen = [
            (title, str(choice["display"]), str(choices[0]["query_string"]))
            for title, choices in found
            for choice in choices[1:]
            if choice.get("selected")
        ]
        if self.query:
            chosen.append(("search", self.query, self.get_query_string(remove=[SEARCH_VAR])))
        return chosen

    def _names(self) -> list[str]:
        """The columns of the order; all of them descend."""
        return [str(name).removeprefix("-") for name in self.model_admin.get_ordering(self._request)]

    def _place(self, cursor: str | None) -> list[Any] | None:
        if cursor is None:
            return None
        kinds = [_KINDS.get(name, paging.seq) for name in self._names()]
        try:
            return paging.decode(cursor, *kinds)
        except Problem:
            # An address that somebody changed leads to the first page.
            return None

    def _from(self, place: list[Any] | None, backwards: bool) -> QuerySet[Any]:
        names = self._names()
        rows: QuerySet[Any] = self.queryset.order_by(*(name if backwards else f"-{name}" for name in names))
        return rows if place is None else rows.filter(behind(names, place, "gt" if backwards else "lt"))

    def _link(self, more: bool, backwards: bool) -> None:
        if not self.result_list:
            return
        if more or backwards:
            self.older = self.get_query_string({OLDER: self._cursor(self.result_list[-1])})
        if not self.begins:
            self.newer = self.get_query_string({NEWER: self._cursor(self.result_list[0])})

    def _cursor(self, row: Any) -> str:
        values = [getattr(row, name) for name in self._names()]
        return paging.encode(*(value if isinstance(value, int) else _text(value) for value in values))


_KINDS = {"updated_at": paging.moment, "created_at": paging.moment, "uid": paging.uid}


def _text(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def behind(names: list[str], place: list[Any], comparison: str) -> Q:
    (first, *others), (value, *values) = names, place
    beyond = Q(**{f"{first}__{comparison}": value})
    return beyond | Q(**{first: value}) & behind(others, values, comparison) if others else beyond


class LongList(ModelAdmin):
    change_list_template = "console/long_list.html"
    show_full_result_count = False
    list_per_page = 50
    # Any other order than the index's would sort the whole table.
    sortable_by = ()
    ordering = ("-pk",)
    list_disable_select_all = True
    # What a list without rows says, and what stands on the button that makes the first one.
    empty_says = ""
    add_says = ""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[KeysetList]:
        return KeysetList


class ReadOnly(ModelAdmin):
    """Shown and never changed by hand. The right to change is the right to what its actions do."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_view_permission(request) or super().has_change_permission(request)
