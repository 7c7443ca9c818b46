"""What was condensed, what waits for it, and the long runs over all sessions."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from sessions_app import condensing, consolidation
from sessions_app.access import SCOPES, Caller
from sessions_app.admin.cells import BAD, GOOD, NONE, WARN, link_to, spaced, tag, two_lines, when
from sessions_app.admin.filters import Made
from sessions_app.admin.lists import LongList, ReadOnly
from sessions_app.admin.markdown import MOST_ALONE, rendered, rendered_line
from sessions_app.admin.pages import Page
from sessions_app.admin.sessions import uid_of
from sessions_app.commits import commit
from sessions_app.models import Consolidation, ConsolidationJob, Run
from sessions_app.objects import uid_text
from sessions_app.problems import Problem
from sessions_app.redaction import displayed

# No key stands behind an operator at the admin.
NO_KEY = 0
MOST_POINTS = 200


def acting_for(found: Consolidation) -> Caller:
    agent = found.agent
    return Caller(NO_KEY, agent.pk, agent.name, agent.timezone, frozenset(SCOPES))


@admin.register(Consolidation)
class ConsolidationAdmin(Page):
    list_display = ("range", "of_agent", "why", "made_by", "saved", "made", "counts")
    list_filter = (Made, "engine", "trigger", "agent")
    search_fields = ("uid",)
    search_help_text = "The id of a consolidation or of its session."
    actions = ("redo", "discard")
    page_template = "console/consolidation.html"
    deeds: ClassVar = {"redo": "Condense once more", "discard": "Discard"}
    dangerous = frozenset({"discard"})

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

    def fitting(self, row: Consolidation) -> set[str]:
        """What stands below another one cannot be taken away from under it."""
        newest = consolidation.newest(row.session)
        return set(self.deeds) if newest is not None and newest.pk == row.pk else set()

    def told(self, request: HttpRequest, row: Consolidation) -> dict[str, Any]:
        session_id, shown = uid_text(row.session.uid), displayed(row.agent)
        return {
            "title": f"Entries {row.from_seq} to {row.through_seq}",
            "summary": rendered(shown(row.summary), most=MOST_ALONE),
            "points": [
                {
                    "label": point["label"],
                    "html": rendered_line(shown(point["text"])),
                    "seq": point["seq"],
                    "place": f"{session_id}.{point['seq']}",
                }
                for point in row.points[:MOST_POINTS]
            ],
            "begins_at": f"{session_id}.{row.from_seq}",
            "ends_at": f"{session_id}.{row.through_seq}",
            "share": _share(row),
            "others": consolidation.of(row.session).exclude(pk=row.pk).defer("points", "summary")
            .order_by("-pk")[:10],
        }  # fmt: skip

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
                moved = act(found, by) is not None
            except Problem as problem:
                self.message_user(request, f"{found}: {problem.detail}", messages.ERROR)
                continue
            if moved:
                count += 1
                self.log_change(request, found, f"{done.capitalize()}.")
        self.message_user(request, f"{count} {done}.")

    @admin.display(description="range")
    def range(self, found: Consolidation) -> SafeString:
        return two_lines(found.session, f"entries {found.from_seq} to {found.through_seq}")

    @admin.display(description="agent")
    def of_agent(self, found: Consolidation) -> str:
        return found.agent.name

    @admin.display(description="because")
    def why(self, found: Consolidation) -> str:
        return found.trigger

    @admin.display(description="engine")
    def made_by(self, found: Consolidation) -> SafeString | str:
        if found.fell_back:
            return format_html(
                '{} <span title="{}">{}</span>', found.engine, found.fell_back, tag("fell back", WARN)
            )
        return found.model or found.engine

    @admin.display(description="tokens")
    def saved(self, found: Consolidation) -> SafeString:
        return two_lines(
            f"{spaced(found.tokens_before)} → {spaced(found.tokens_after)}", f"{_share(found)} % of it left"
        )

    @admin.display(description="made")
    def made(self, found: Consolidation) -> SafeString | str:
        return when(found.created_at)

    @admin.display(description="state")
    def counts(self, found: Consolidation) -> SafeString:
        return tag("discarded") if found.discarded_at else tag("counts", GOOD)


def _share(found: Consolidation) -> int:
    return round(100 * found.tokens_after / max(found.tokens_before, 1))


@admin.register(ConsolidationJob)
class ConsolidationJobAdmin(ReadOnly, LongList):
    list_display = ("of_session", "trigger", "state", "attempts", "last_error", "asked", "next_try")
    list_display_links = None
    list_select_related = ("session",)
    actions = ("do_now",)

    @admin.action(description="Do selected ones now", permissions=["change"])
    def do_now(self, request: HttpRequest, queryset: QuerySet[ConsolidationJob]) -> None:
        now, chosen = timezone.now(), list(queryset.filter(running=False))
        moved = commit(lambda: queryset.filter(running=False).update(next_attempt_at=now))
        for job in chosen:
            self.log_change(request, job, "Asked to do it now.")
        self.message_user(request, f"{moved} are due now.")

    @admin.display(description="session")
    def of_session(self, job: ConsolidationJob) -> SafeString | str:
        return link_to(job.session)

    @admin.display(description="state")
    def state(self, job: ConsolidationJob) -> SafeString:
        if job.running:
            return tag("running", GOOD)
        return tag("fails", BAD) if job.last_error else tag("waits")

    @admin.display(description="waits since")
    def asked(self, job: ConsolidationJob) -> SafeString | str:
        return when(job.created_at)

    @admin.display(description="next try")
    def next_try(self, job: ConsolidationJob) -> SafeString | str:
        return when(job.next_attempt_at)


@admin.register(Run)
class RunAdmin(ReadOnly, LongList):
    list_display = ("name", "agent", "stands", "progress", "failed", "error", "begun", "ended")
    list_display_links = None
    list_select_related = ("agent",)
    list_filter = ("state", "agent")

    @admin.display(description="state")
    def stands(self, run: Run) -> SafeString:
        return tag(run.state, {"done": GOOD, "failed": BAD}.get(run.state, ""))

    @admin.display(description="done")
    def progress(self, run: Run) -> SafeString:
        return format_html(
            '<progress class="db-progress" max="{}" value="{}" aria-label="Done"></progress> {} of {}',
            max(run.total, 1), run.done, run.done, run.total,
        )  # fmt: skip

    @admin.display(description="last error")
    def error(self, run: Run) -> str:
        return run.last_error or NONE

    @admin.display(description="begun")
    def begun(self, run: Run) -> SafeString | str:
        return when(run.started_at)

    @admin.display(description="finished")
    def ended(self, run: Run) -> SafeString | str:
        return when(run.finished_at)
