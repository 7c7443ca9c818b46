from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from gateway_app import outbox
from gateway_app.models import Delivery, DeliveryState, Platform
from gateway_app.targets import LOCAL
from sessions_app.admin.cells import BAD, GOOD, NONE, WARN, tag, two_lines, when
from sessions_app.admin.filters import Choice
from sessions_app.admin.pages import Page
from sessions_app.admin.sessions import uid_of
from sessions_app.models import Session
from sessions_app.redaction import displayed

KINDS = {DeliveryState.DELIVERED: GOOD, DeliveryState.RETRYING: WARN, DeliveryState.DEAD: BAD}
BRIEF = 120


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
class DeliveryAdmin(Page):
    list_display = ("to", "of_agent", "stands", "attempts", "why", "created", "done")
    list_filter = (IsWaiting, "state", OfPlatform, "agent")
    search_fields = ("uid",)
    search_help_text = "The id of a delivery, or of the session that it belongs to."
    actions = ("send_again", "give_up")
    page_template = "console/delivery.html"
    deeds: ClassVar = {"send_again": "Send again", "give_up": "Give up"}
    dangerous = frozenset({"give_up"})
    empty_says = "Nothing has been sent yet. What agents ask to have delivered stands here with how it went."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        found: QuerySet[Delivery] = super().get_queryset(request).select_related("agent", "session")
        one = request.resolver_match and "object_id" in request.resolver_match.kwargs
        return found if one else found.defer("content")

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

    def fitting(self, row: Delivery) -> set[str]:
        if row.state == DeliveryState.DEAD:
            return {"send_again"}
        return {"give_up"} if row.state in outbox.WAITING else set()

    def told(self, request: HttpRequest, row: Delivery) -> dict[str, Any]:
        return {
            "title": f"Delivery to {row.target}",
            "kind": KINDS.get(DeliveryState(row.state), ""),
            "content": displayed(row.agent)(row.content),
            "most": settings.DELIVERY_ATTEMPTS,
            "connection": Platform.objects.filter(agent_id=row.agent_id, platform=row.platform).first(),
        }

    @admin.action(description="Send selected deliveries again", permissions=["change"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        dead = list(queryset.filter(state=DeliveryState.DEAD))
        moved = outbox.retry(queryset, timezone.now())
        self._note(request, dead, "Asked to send it again.")
        self.message_user(request, f"{moved} are queued again; only dead ones are.")

    @admin.action(description="Give selected deliveries up", permissions=["change"])
    def give_up(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        waiting = list(queryset.filter(state__in=outbox.WAITING))
        ended = outbox.give_up(queryset)
        self._note(request, waiting, "Gave it up.")
        self.message_user(
            request, f"{ended} are given up; those that were done already are left as they are."
        )

    def _note(self, request: HttpRequest, rows: list[Delivery], message: str) -> None:
        user: Any = request.user
        LogEntry.objects.log_actions(user.pk, rows, CHANGE, change_message=message)

    @admin.display(description="to")
    def to(self, row: Delivery) -> SafeString:
        place = ":".join(filter(None, (row.platform, row.chat_id, row.thread_id)))
        return two_lines(row.target, place if place != row.target else "")

    @admin.display(description="agent")
    def of_agent(self, row: Delivery) -> str:
        return row.agent.name

    @admin.display(description="state")
    def stands(self, row: Delivery) -> SafeString:
        return tag(row.state, KINDS.get(DeliveryState(row.state), ""))

    @admin.display(description="last error")
    def why(self, row: Delivery) -> str:
        return row.last_error[:BRIEF] or NONE

    @admin.display(description="asked for")
    def created(self, row: Delivery) -> SafeString | str:
        return when(row.created_at)

    @admin.display(description="arrived, or next try")
    def done(self, row: Delivery) -> SafeString | str:
        if row.delivered_at:
            return two_lines(when(row.delivered_at), "arrived")
        return two_lines(when(row.next_attempt_at), "next try") if row.next_attempt_at else NONE
