from typing import Any

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from gateway_app import outbox
from gateway_app.models import Delivery
from sessions_app.admin.lists import LongList, ReadOnly
from sessions_app.admin.sessions import Choice, uid_of


class IsWaiting(Choice):
    title, parameter_name = "waiting", "waiting"
    choices_ = (("yes", "still to be sent"),)

    def chosen(self, value: str) -> Q:
        # With what the index says of its rows, so that it is used.
        return Q(next_attempt_at__isnull=False, state__in=outbox.WAITING)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnly, LongList):
    list_display = (
        "target", "agent", "state", "attempts", "last_error", "created_at", "next_attempt_at", "delivered_at",
    )  # fmt: skip
    list_filter = (IsWaiting, "state", "agent")
    search_fields = ("uid",)
    search_help_text = "The id of a delivery."
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
        return (queryset.none() if uid is None else queryset.filter(uid=uid)), False

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
