"""Lists that cost the same whether a table has a thousand rows or a hundred million."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.http import HttpRequest
from django.utils.functional import cached_property

if TYPE_CHECKING:
    # Generic to the type checker alone.
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
    Rows = Paginator[Any]
else:
    ModelAdmin, TabularInline, Rows = admin.ModelAdmin, admin.TabularInline, Paginator

FURTHEST = 10_000


class NewestRows(Rows):
    """Leads as far as the first rows of a list go; nobody turns more pages, and nobody counts the rest."""

    @cached_property
    def count(self) -> int:
        found: Any = self.object_list
        return int(found.order_by()[:FURTHEST].count())


class LongList(ModelAdmin):
    paginator = NewestRows
    show_full_result_count = False
    list_per_page = 50
    # Any other order than the index's would sort the whole table.
    sortable_by = ()
    ordering = ("-pk",)


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
