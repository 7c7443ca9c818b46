from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from sessions_app.admin.lists import LongList, ReadOnly
from sessions_app.models import Agent, Session

LOOKED_AT = 1000


class IsOpen(admin.SimpleListFilter):
    title, parameter_name = "state", "open"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "open"), ("no", "ended")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("yes", "no"):
            return queryset
        return queryset.filter(ended_at__isnull=self.value() == "yes")


class OfPlatform(admin.SimpleListFilter):
    """By the platforms of the newest sessions: to ask for all that ever were would read the whole table."""

    title, parameter_name = "platform", "platform"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        newest = Session.objects.order_by("-pk").values_list("platform", flat=True)[:LOOKED_AT]
        return [(name, name) for name in sorted(set(newest)) if name]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() is None else queryset.filter(platform=self.value())


class OfChatType(admin.SimpleListFilter):
    title, parameter_name = "chat type", "chat_type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in ("dm", "group", "channel", "thread")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() is None else queryset.filter(chat_type=self.value())


@admin.register(Session)
class SessionAdmin(ReadOnly, LongList):
    list_display = (
        "__str__", "agent", "platform", "chat_type", "messages_count", "updated_at", "ended_at", "end_reason",
    )  # fmt: skip
    list_select_related = ("agent",)
    list_filter = (IsOpen, OfPlatform, OfChatType, "agent")
    search_fields = ("key",)
    search_help_text = "A whole session key or the id of a session."
    exclude = ("reset_check_at", "reset_told")
    readonly_fields = ("uid", "record")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Session], search_term: str
    ) -> tuple[QuerySet[Session], bool]:
        """Whole, because that is what the indexes find."""
        term = search_term.strip()
        if not term:
            return queryset, False
        if (uid := uid_of(term)) is not None:
            return queryset.filter(uid=uid), False
        # The index of keys begins with the agent.
        return queryset.filter(Q(agent__in=Agent.objects.values("pk")), key=term), False

    @admin.display(description="messages")
    def record(self, session: Session) -> str:
        address = reverse("admin:sessions_app_message_changelist")
        return format_html(
            '<a href="{}?session__id__exact={}">{} entries</a>', address, session.pk, session.last_seq
        )


def uid_of(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
