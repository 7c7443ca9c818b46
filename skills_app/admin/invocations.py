from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from sessions_app.admin.lists import LongList, ReadOnly
from sessions_app.admin.sessions import uid_of
from skills_app.models import SkillInvocation, SkillRollup


@admin.register(SkillInvocation)
class SkillInvocationAdmin(ReadOnly, LongList):
    list_display = (
        "skill_name", "agent", "state", "workflow_phase", "invoked_at", "finished_at", "error_type",
    )  # fmt: skip
    list_select_related = ("agent",)
    list_filter = ("state", "agent")
    search_fields = ("uid",)
    search_help_text = "The id of an invocation or of its session."
    exclude = ("import_key",)
    readonly_fields = ("uid",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[SkillInvocation]:
        found: QuerySet[SkillInvocation] = super().get_queryset(request)
        return found.defer("user_query")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[SkillInvocation], search_term: str
    ) -> tuple[QuerySet[SkillInvocation], bool]:
        if not search_term.strip():
            return queryset, False
        uid = uid_of(search_term.strip())
        if uid is None:
            return queryset.none(), False
        return queryset.filter(uid=uid) | queryset.filter(session__uid=uid), False


@admin.register(SkillRollup)
class SkillRollupAdmin(ReadOnly, LongList):
    list_display = (
        "skill_name",
        "agent",
        "workflow_phase",
        "day",
        "completed",
        "failed",
        "abandoned",
        "last_at",
    )
    list_select_related = ("agent",)
    list_filter = ("agent",)
