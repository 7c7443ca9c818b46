from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from gateway_app import leases
from gateway_app.admin.acting import acting_for
from gateway_app.models import Lease
from sessions_app.admin.cells import GOOD, link_to, tag, when
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

    list_display = ("name", "of_session", "agent", "stands", "taken", "renewed", "expires")
    list_display_links = None
    list_select_related = ("session__agent",)
    actions = ("end",)
    empty_says = (
        "No agent works in the background just now. Such work keeps policies from ending its session."
    )
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

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_actions(self, request: HttpRequest) -> Any:
        """“Delete” says the same in other words."""
        offered = super().get_actions(request)
        offered.pop("delete_selected", None)
        return offered

    @admin.action(description="End selected leases", permissions=["delete"])
    def end(self, request: HttpRequest, queryset: QuerySet[Lease]) -> None:
        ended = list(queryset.select_related("session__agent").order_by("session_id", "pk"))
        for lease in ended:
            self.log_change(request, lease.session, f"Ended the lease “{lease.name}”.")
            self.delete_model(request, lease)
        self.message_user(request, f"{len(ended)} ended: policies may end their sessions again.")

    def delete_model(self, request: HttpRequest, obj: Lease) -> None:
        now = timezone.now()
        leases.release(acting_for(obj.session.agent, now), obj.session.uid, obj.name, now)

    @admin.display(description="session")
    def of_session(self, lease: Lease) -> SafeString | str:
        return link_to(lease.session)

    @admin.display(description="agent")
    def agent(self, lease: Lease) -> str:
        return lease.session.agent.name

    @admin.display(description="state")
    def stands(self, lease: Lease) -> SafeString:
        return tag("live", GOOD) if lease.expires_at > timezone.now() else tag("expired")

    @admin.display(description="taken")
    def taken(self, lease: Lease) -> SafeString | str:
        return when(lease.created_at)

    @admin.display(description="last heard of")
    def renewed(self, lease: Lease) -> SafeString | str:
        return when(lease.renewed_at)

    @admin.display(description="runs out")
    def expires(self, lease: Lease) -> SafeString | str:
        return when(lease.expires_at)
