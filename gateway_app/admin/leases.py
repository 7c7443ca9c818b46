from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from gateway_app import leases
from gateway_app.admin.acting import acting_for
from gateway_app.models import Lease
from sessions_app.admin.lists import LongList
from sessions_app.admin.sessions import uid_of


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

    list_display = ("name", "of_session", "agent", "created_at", "renewed_at", "expires_at")
    list_select_related = ("session__agent",)
    list_filter = (IsLive, "session__agent")
    search_fields = ("name", "session__key")
    search_help_text = "A part of a name or of a session's key, or a session's id."

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Lease], search_term: str
    ) -> tuple[QuerySet[Lease], bool]:
        uid = uid_of(search_term.strip())
        if uid is not None:
            return queryset.filter(session__uid=uid), False
        return super().get_search_results(request, queryset, search_term)

    @admin.display(description="session")
    def of_session(self, lease: Lease) -> str:
        page = reverse("admin:sessions_app_session_change", args=[lease.session_id])
        return format_html('<a href="{}">{}</a>', page, lease.session)

    @admin.display(description="agent")
    def agent(self, lease: Lease) -> str:
        return lease.session.agent.name

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
