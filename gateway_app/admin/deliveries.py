from typing import Any

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from gateway_app import outbox
from gateway_app.models import Delivery, Platform
from gateway_app.targets import LOCAL
from sessions_app.admin.filters import Choice
from sessions_app.admin.lists import LongList, ReadOnly
from sessions_app.admin.sessions import uid_of
from sessions_app.models import Session


class IsWaiting(Choice):
    title, parameter_name = "waiting", "waiting"
    choices_ = (("yes", "still to be sent"),)

    def chosen(self, value: str) -> Q:
        # With what the index says of its rows, so that it is used.
        return Q(next_attempt_at__isnull=False, state__in=outbox.WAITING)


class OfPlatform(Choice):
    """By what is connected; what was removed since is found under no filter."""

    title, parameter_name = "platform", "platform"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        connected = Platform.objects.order_by("platform").values_list("platform", flat=True).distinct()
        return [(name, name) for name in (LOCAL, *connected)]

    def chosen(self, value: str) -> Q:
        return Q(platform=value)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnly, LongList):
    list_display = (
        "target", "agent", "state", "attempts", "last_error", "created_at", "next_attempt_at", "delivered_at",
    )  # fmt: skip
    list_filter = (IsWaiting, "state", OfPlatform, "agent")
    search_fields = ("uid",)
    search_help_text = "The id of a delivery, or of the session that it belongs to."
    readonly_fields = ("uid",)
    actions = ("send_again", "give_up")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        found: QuerySet[Delivery] = super().get_queryset(request)
        return found.select_related("agent").defer("content")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Delivery], search_term: str
    ) -> tuple[QuerySet[Delivery], bool]:
        if not search_term.strip():
            return queryset, False
        uid = uid_of(search_term.strip())
        if uid is None:
            return queryset.none(), False
        # Looked up first, so that each of both ways has its index.
        session = Session.objects.filter(uid=uid).values_list("pk", flat=True).first()
        return queryset.filter(uid=uid) if session is None else queryset.filter(session=session), False

    @admin.action(description="Send selected deliveries again", permissions=["change"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        self._note(request, queryset, "Asked to send it again.")
        moved = outbox.retry(queryset, timezone.now())
        self.message_user(request, f"{moved} are queued again; only dead ones are.")

    @admin.action(description="Give selected deliveries up", permissions=["change"])
    def give_up(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        self._note(request, queryset, "Gave it up.")
        ended = outbox.give_up(queryset)
        self.message_user(
            request, f"{ended} are given up; those that were done already are left as they are."
        )

    def _note(self, request: HttpRequest, queryset: QuerySet[Any], message: str) -> None:
        user: Any = request.user
        LogEntry.objects.log_actions(user.pk, queryset, CHANGE, change_message=message)
