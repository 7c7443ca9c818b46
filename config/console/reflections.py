"""Reports of agents on themselves: the list, a report with its pictures, and one written now."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import IntegerField, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from config.console import charts
from gateway_app.models import Delivery
from sessions_app import reflections
from sessions_app.admin.cells import BAD, GOOD, NONE, WARN, tag, two_lines, when
from sessions_app.admin.markdown import MOST_ALONE, rendered
from sessions_app.admin.pages import Page
from sessions_app.commits import commit
from sessions_app.models import Agent, Reflection
from sessions_app.redaction import displayed
from sessions_app.reflection_report import linked

AGENTS = 50
WRITE = "sessions_app.change_session"
PERIODS = {
    "24h": "the last 24 hours",
    "7d": "the last 7 days",
    "30d": "the last 30 days",
    "": "the newest 30 entries",
}
SPANS = {"24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}
MOST_DAYS = 92
# Where a report quotes somebody.
SAID = {"text", "phrase", "example", "shape", "word", "tool", "skill", "insights"}
# name, title, whether more of it is worse
COUNTED = (
    ("entries", "Entries", False), ("user_messages", "User messages", False),
    ("responses", "Responses", False),
    ("errors", "Errors", True), ("low_confidence", "Low confidence", True),
    ("tool_failures", "Failed tool calls", True),
)  # fmt: skip


@admin.register(Reflection)
class ReflectionAdmin(Page):
    list_display = ("named", "of_agent", "entries", "errors", "unsure", "sent", "written")
    list_select_related = ("agent", "session")
    list_filter = ("trigger", "agent")
    page_template = "console/reflection.html"
    list_before_template = "console/write_report.html"
    empty_says = "No report has been written yet. Each agent writes one a day; you can have one written now."

    def get_urls(self) -> list[URLPattern]:
        write = self.admin_site.admin_view(self.write_view)
        return [path("write/", write, name="console_write_report"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Reflection]:
        found: QuerySet[Reflection] = super().get_queryset(request)
        if request.resolver_match and "object_id" in request.resolver_match.kwargs:
            return found
        counts = {f"{name}_told": _number(name) for name in ("errors", "low_confidence")}
        return found.annotate(**counts).defer("markdown", "stats")

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        offered: dict[str, Any] = {"may_write": request.user.has_perm(WRITE), "periods": PERIODS.items()}
        if offered["may_write"]:
            offered["agents"] = Agent.objects.order_by("name")[:AGENTS]
        answer: HttpResponse = super().changelist_view(request, {**offered, **(extra_context or {})})
        return answer

    def write_view(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST" or not request.user.has_perm(WRITE):
            raise PermissionDenied
        agent = Agent.objects.filter(pk=_digits(request.POST.get("agent", ""))).first()
        if agent is None:
            self.message_user(request, "Choose an agent.", messages.ERROR)
            return redirect("admin:sessions_app_reflection_changelist")
        now = timezone.now()
        span = SPANS.get(request.POST.get("period", ""))
        scope = reflections.Scope(
            since=None if span is None else now - span, until=None if span is None else now
        )
        found = reflections.write(agent, scope, reflections.ASKED, now)

        def store() -> None:
            found.save(force_insert=True)
            self.log_addition(request, found, f"Wrote a report over {found.entries} entries of {agent.name}.")

        commit(store)
        self.message_user(request, f"Wrote a report over {found.entries} entries.")
        return redirect("admin:sessions_app_reflection_change", found.pk)

    def told(self, request: HttpRequest, row: Reflection) -> dict[str, Any]:
        stats = _displayed(row.stats, displayed(row.agent))
        places = reverse("admin:console_session", args=["-"]).removesuffix("-/")
        others = Reflection.objects.filter(agent=row.agent, session=row.session).only("pk")
        return {
            "title": f"Report of {row.agent.name}",
            "period": _period(row),
            "figures": [_figure(stats, *counted) for counted in COUNTED],
            "compared": _compared(stats),
            "days": _days(stats),
            "report": rendered(linked(stats, places + "{}/"), most=MOST_ALONE, links_to=places),
            "topics": _scaled(stats.get("topics", []), "mentions"),
            "tools": _scaled(stats.get("tools", [])[:12], "calls"),
            "delivery": row.delivery and Delivery.objects.filter(uid=row.delivery).first(),
            "before": others.filter(pk__lt=row.pk).order_by("-pk").first(),
            "after": others.filter(pk__gt=row.pk).order_by("pk").first(),
        }

    @admin.display(description="report")
    def named(self, found: Reflection) -> SafeString:
        return two_lines(_period(found), found.session or "all sessions")

    @admin.display(description="agent")
    def of_agent(self, found: Reflection) -> str:
        return found.agent.name

    @admin.display(description="errors")
    def errors(self, found: Any) -> SafeString | str:
        return tag(found.errors_told, BAD) if found.errors_told else "none"

    @admin.display(description="low confidence")
    def unsure(self, found: Any) -> SafeString | str:
        return tag(found.low_confidence_told, WARN) if found.low_confidence_told else "none"

    @admin.display(description="delivered")
    def sent(self, found: Reflection) -> SafeString | str:
        if found.delivery_error:
            return tag("failed", BAD)
        return tag("handed over", GOOD) if found.delivery else NONE

    @admin.display(description="written")
    def written(self, found: Reflection) -> SafeString | str:
        return two_lines(when(found.created_at), {"daily": "daily", "asked": "asked for"}[found.trigger])


def _number(name: str) -> Cast:
    return Cast(KT(f"stats__{name}"), IntegerField())


def _digits(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _period(row: Reflection) -> str:
    if row.since is None:
        return f"The newest {row.entries} entries"
    until = row.until or row.created_at
    return f"{row.since:%-d %b %Y, %H:%M} to {until:%-d %b %Y, %H:%M}"


def _figure(stats: dict[str, Any], name: str, title: str, worse: bool) -> dict[str, Any]:
    now, before = stats.get(name, 0), (stats.get("before") or {}).get(name)
    change = None if before is None else now - before
    return {
        "title": title,
        "value": now,
        "change": change,
        "said": "" if change is None else f"{change:+d} against {before} before",
        "kind": "" if not change or not worse else "db-worse" if change > 0 else "db-better",
    }


def _displayed(value: Any, shown: Callable[[str], str], name: str = "") -> Any:
    """What was said, as it may be read; ids, times and numbers are left alone."""
    if isinstance(value, dict):
        return {key: _displayed(item, shown, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_displayed(item, shown, name) for item in value]
    return shown(value) if name in SAID and isinstance(value, str) else value


def _compared(stats: dict[str, Any]) -> list[dict[str, Any]]:
    """Now and before, each pair on a scale of its own."""
    before = stats.get("before")
    if not before or not before.get("entries"):
        return []
    pairs = [(title, stats.get(name, 0), before.get(name, 0)) for name, title, _ in COUNTED]
    return [
        {"title": title, "now": now, "before": earlier, "most": max(now, earlier, 1)}
        for title, now, earlier in pairs
    ]


def _days(stats: dict[str, Any]) -> charts.Chart | None:
    """Every day from the first to the last, also those on which nothing happened."""
    found = {date.fromisoformat(day["day"]): day for day in stats.get("by_day", [])}
    if not found:
        return None
    first, last = min(found), max(found)
    first = max(first, last - timedelta(days=MOST_DAYS - 1))
    nothing = {"entries": 0, "errors": 0}
    bars = []
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        counts = found.get(day, nothing)
        bars.append(charts.Bar(f"{day:%-d %b}", counts["entries"], counts["errors"]))
    return charts.bars(bars, "Entries a day")


def _scaled(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    most = max((row[name] for row in rows), default=1)
    return [{**row, "most": max(most, 1)} for row in rows]
