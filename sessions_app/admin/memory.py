from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from sessions_app import condensing, consolidation, memory
from sessions_app.access import SCOPES, Caller
from sessions_app.admin.lists import LongList, ReadOnly
from sessions_app.admin.markdown import MOST_ALONE, rendered
from sessions_app.admin.sessions import uid_of
from sessions_app.commits import commit
from sessions_app.models import Consolidation, ConsolidationJob, MemoryRevision, Reflection, Run
from sessions_app.problems import Problem
from sessions_app.reflection_report import linked

# No key stands behind an operator at the admin.
NO_KEY = 0
BAR_WIDTH = 300


def acting_for(found: Consolidation) -> Caller:
    agent = found.agent
    return Caller(NO_KEY, agent.pk, agent.name, agent.timezone, frozenset(SCOPES))


@admin.register(Consolidation)
class ConsolidationAdmin(ReadOnly, LongList):
    list_display = (
        "__str__", "session", "agent", "trigger", "engine", "fell_back", "tokens_before", "tokens_after",
        "seconds", "created_at", "discarded_at",
    )  # fmt: skip
    list_filter = ("engine", "trigger", "agent")
    search_fields = ("uid",)
    search_help_text = "The id of a consolidation or of its session."
    exclude = ("points", "summary")
    readonly_fields = ("uid", "text", "messages_of")
    actions = ("redo", "discard")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Consolidation]:
        found: QuerySet[Consolidation] = super().get_queryset(request)
        return found.select_related("agent", "session", "memory")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Consolidation], search_term: str
    ) -> tuple[QuerySet[Consolidation], bool]:
        if not search_term.strip():
            return queryset, False
        uid = uid_of(search_term.strip())
        if uid is None:
            return queryset.none(), False
        return queryset.filter(uid=uid) | queryset.filter(session__uid=uid), False

    @admin.display(description="summary")
    def text(self, found: Consolidation) -> SafeString:
        return rendered(found.summary, most=MOST_ALONE)

    @admin.display(description="messages")
    def messages_of(self, found: Consolidation) -> SafeString:
        address = reverse("admin:sessions_app_message_changelist")
        return format_html(
            '<a href="{}?session__id__exact={}&seq__gte={}&seq__lte={}">{} entries</a>',
            address,
            found.session_id,
            found.from_seq,
            found.through_seq,
            found.entries,
        )

    @admin.action(description="Condense selected ranges once more", permissions=["change"])
    def redo(self, request: HttpRequest, queryset: QuerySet[Consolidation]) -> None:
        def again(found: Consolidation, by: str) -> object:
            return condensing.redo(
                acting_for(found), found.session.uid, str(found.uid), name=None, by=by, clock=timezone.now
            )

        self._each(request, queryset, again, "condensed once more")

    @admin.action(description="Discard selected consolidations", permissions=["change"])
    def discard(self, request: HttpRequest, queryset: QuerySet[Consolidation]) -> None:
        def away(found: Consolidation, by: str) -> object:
            now = timezone.now()
            return commit(
                lambda: consolidation.discard(
                    acting_for(found), found.session.uid, str(found.uid), by=by, now=now
                )
            )

        self._each(request, queryset, away, "discarded")

    def _each(self, request: HttpRequest, queryset: QuerySet[Consolidation], act: Any, done: str) -> None:
        """Newest first: what stands on another has to go before it."""
        by, count = request.user.get_username(), 0
        for found in queryset.order_by("-through_seq"):
            try:
                count += act(found, by) is not None
            except Problem as problem:
                self.message_user(request, f"{found}: {problem.detail}", messages.ERROR)
        self.message_user(request, f"{count} {done}.")


@admin.register(ConsolidationJob)
class ConsolidationJobAdmin(ReadOnly, LongList):
    list_display = (
        "session", "trigger", "running", "attempts", "last_error", "created_at", "next_attempt_at",
    )  # fmt: skip
    list_select_related = ("session",)
    actions = ("do_now",)

    @admin.action(description="Do selected ones now", permissions=["change"])
    def do_now(self, request: HttpRequest, queryset: QuerySet[ConsolidationJob]) -> None:
        now = timezone.now()
        moved = commit(lambda: queryset.filter(running=False).update(next_attempt_at=now))
        self.message_user(request, f"{moved} are due now.")


@admin.register(MemoryRevision)
class MemoryRevisionAdmin(ReadOnly, LongList):
    list_display = ("agent", "version", "author", "created_at")
    list_select_related = ("agent",)
    list_filter = ("agent",)
    readonly_fields = ("changes", "document")
    exclude = ("content",)
    actions = ("make_current",)

    @admin.display(description="changes")
    def changes(self, found: MemoryRevision) -> SafeString:
        return format_html("<pre>{}</pre>", memory.diff(found))

    @admin.display(description="document")
    def document(self, found: MemoryRevision) -> SafeString:
        return rendered(found.content, most=MOST_ALONE)

    @admin.action(description="Make this version the current one again", permissions=["change"])
    def make_current(self, request: HttpRequest, queryset: QuerySet[MemoryRevision]) -> None:
        now, by = timezone.now(), request.user.get_username()
        for found in queryset.select_related("agent"):
            commit(lambda found=found: memory.restore(found, by, now))  # type: ignore[misc]
        self.message_user(request, "Done: it is a new version with the old text.")


@admin.register(Reflection)
class ReflectionAdmin(ReadOnly, LongList):
    list_display = ("__str__", "agent", "trigger", "since", "until", "delivery_error", "created_at")
    list_select_related = ("agent",)
    list_filter = ("trigger", "agent")
    readonly_fields = ("uid", "report", "chart")
    exclude = ("markdown", "stats")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Reflection]:
        found: QuerySet[Reflection] = super().get_queryset(request)
        return (
            found
            if request.resolver_match and "object_id" in request.resolver_match.kwargs
            else found.defer("markdown", "stats")
        )

    @admin.display(description="report")
    def report(self, found: Reflection) -> SafeString:
        """With links that lead to the pages of the admin."""
        messages = reverse("admin:sessions_app_message_changelist")
        return rendered(linked(found.stats, messages + "?q={}"), most=MOST_ALONE, links_to=messages)

    @admin.display(description="entries a day")
    def chart(self, found: Reflection) -> SafeString:
        days = found.stats.get("by_day", [])
        most = max((day["entries"] for day in days), default=1)
        bars = [
            (day["day"], BAR_WIDTH * day["entries"] // most, day["entries"], day["errors"]) for day in days
        ]
        return format_html_join(
            "",
            '<div>{} <svg width="{}" height="10" role="presentation">'
            '<rect width="100%" height="10" fill="currentColor"/></svg> {} entries, {} errors</div>',
            bars,
        )


@admin.register(Run)
class RunAdmin(ReadOnly, LongList):
    list_display = (
        "name", "agent", "state", "done", "total", "failed", "last_error", "started_at", "finished_at",
    )  # fmt: skip
    list_select_related = ("agent",)
    list_filter = ("state", "agent")
