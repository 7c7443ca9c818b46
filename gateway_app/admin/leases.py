from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from gateway_app import leases
from gateway_app.admin.acting import acting_for
from gateway_app.models import Lease
from sessions_app.admin.lists import LongList


class IsLive(admin.SimpleListFilter):
    title, parameter_name = "state", "live"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "live"), ("no", "expired")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        now = timezone.now()
        if self.value() == "yes":
            return queryset.filter(expires_at__gt=now)
        return queryset.filter(expires_at__lte=now) if self.value() == "no" else queryset


@admin.register(Lease)
class LeaseAdmin(LongList):
    """Agents hold leases; an operator may end one that was forgotten."""

    list_display = ("name", "session", "created_at", "renewed_at", "expires_at")
    list_select_related = ("session",)
    list_filter = (IsLive,)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def delete_model(self, request: HttpRequest, obj: Lease) -> None:
        now = timezone.now()
        leases.release(acting_for(obj.session.agent, now), obj.session.uid, obj.name, now)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Lease]) -> None:
        for lease in queryset.select_related("session__agent").order_by("session_id", "pk"):
            self.delete_model(request, lease)
