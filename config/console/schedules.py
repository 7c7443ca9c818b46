"""Schedules: when each ran last, how it went, when it runs next; run now, on and off."""

import json
from typing import Any

from celery import current_app
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django_celery_beat.admin import PeriodicTaskForm
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    PeriodicTasks,
    SolarSchedule,
)
from kombu.exceptions import OperationalError

from config import broker
from config.console.health import age
from config.schedules import SCHEDULE, next_run
from sessions_app.admin.cells import BAD, GOOD, NONE, lasted, spaced, tag, two_lines, when
from sessions_app.admin.lists import ModelAdmin
from sessions_app.models import ScheduleState

for model in (ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule):
    admin.site.unregister(model)

# What tasks answer that had nothing to do.
NOTHING = {"", "0", "None"}


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(ModelAdmin):
    form = PeriodicTaskForm
    list_display = ("named", "stands", "how_often", "last_run", "result", "took", "next_run_at", "run")
    list_filter = ("enabled",)
    list_select_related = ("interval", "crontab", "solar", "clocked")
    search_fields = ("name", "task")
    search_help_text = "A part of a name or of a task."
    readonly_fields = ("last_run", "next_run_at", "result", "took", "runs")
    actions = ("run_now", "switch_on", "switch_off")
    ordering = ("name",)
    change_form_before_template = "console/run_schedule.html"
    fieldsets = (
        (None, {"fields": ("name", "enabled", "description")}),
        ("How it went", {"fields": ("last_run", "result", "took", "runs", "next_run_at")}),
        ("When", {"fields": ("interval", "crontab", "clocked", "start_time", "one_off")}),
        ("What is run", {
            "classes": ("collapse",),
            "fields": ("regtask", "task", "args", "kwargs", "expires", "expire_seconds", "queue", "priority"),
        }),
    )  # fmt: skip

    def get_urls(self) -> list[URLPattern]:
        run = self.admin_site.admin_view(self.run_view)
        return [path("<int:pk>/run/", run, name="console_run_schedule"), *super().get_urls()]

    def run_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        if request.method != "POST" or not self.has_change_permission(request):
            raise PermissionDenied
        row = PeriodicTask.objects.filter(pk=pk).first()
        if row is None:
            raise Http404
        self._all_now(request, [row])
        return redirect("admin:django_celery_beat_periodictask_changelist")

    @admin.action(description="Run selected schedules now", permissions=["change"])
    def run_now(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._all_now(request, queryset)

    def _all_now(self, request: HttpRequest, rows: Any) -> None:
        current_app.loader.import_default_modules()
        for row in rows:
            self._run(request, row)

    def _run(self, request: HttpRequest, row: Any) -> None:
        task = current_app.tasks.get(row.task)
        if task is None:
            self.message_user(request, f"{row.name}: there is no task {row.task}.", messages.ERROR)
            return
        try:
            # Under the name of its schedule, so that how it went is noted like any other run.
            current_app.send_task(row.task, headers={SCHEDULE: row.name}, **_given(row))
        except (broker.Unavailable, OperationalError):
            self.message_user(request, f"{row.name}: the broker does not answer.", messages.ERROR)
            return
        self.log_change(request, row, "Asked to run it now.")
        self.message_user(request, f"{row.name} is on its way to a worker.")

    @admin.action(description="Switch selected schedules on", permissions=["change"])
    def switch_on(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._switch(request, queryset, on=True)

    @admin.action(description="Switch selected schedules off", permissions=["change"])
    def switch_off(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._switch(request, queryset, on=False)

    def _switch(self, request: HttpRequest, queryset: QuerySet[Any], *, on: bool) -> None:
        for row in queryset:
            self.log_change(request, row, f"Switched {'on' if on else 'off'}.")
        queryset.update(enabled=on)
        PeriodicTasks.update_changed()
        self.message_user(request, f"They are {'on' if on else 'off'}.")

    @admin.display(description="schedule")
    def named(self, row: Any) -> SafeString:
        return two_lines(row.name, row.description or row.task)

    @admin.display(description="state")
    def stands(self, row: Any) -> SafeString:
        return tag("on", GOOD) if row.enabled else tag("off")

    @admin.display(description="how often")
    def how_often(self, row: Any) -> str:
        if row.crontab:
            return str(row.crontab.human_readable)
        return str(row.interval or row.clocked or row.solar or "never")

    @admin.display(description="next run")
    def next_run_at(self, row: Any) -> SafeString | str:
        now = timezone.now()
        due = next_run(row, now) if row.enabled else None
        if due is None:
            return "off"
        return two_lines(when(due), "now" if due <= now else f"in {age(now, due)}")

    @admin.display(description="last run")
    def last_run(self, row: Any) -> SafeString | str:
        state = self._state(row)
        if state is None:
            return "not run yet"
        return two_lines(when(state.started_at), f"{age(state.started_at, timezone.now())} ago")

    @admin.display(description="result")
    def result(self, row: Any) -> SafeString | str:
        state = self._state(row)
        if state is None:
            return NONE
        if not state.succeeded:
            return format_html("{} {}", tag("failed", BAD), state.result)
        return "nothing to do" if state.result in NOTHING else state.result

    @admin.display(description="took")
    def took(self, row: Any) -> str:
        state = self._state(row)
        return NONE if state is None else lasted(state.seconds)

    @admin.display(description="runs")
    def runs(self, row: Any) -> str:
        state = self._state(row)
        return "0" if state is None else f"{spaced(state.runs)}, {spaced(state.failures)} of them failed"

    @admin.display(description="")
    def run(self, row: Any) -> SafeString | str:
        """Sends the list's own form to another address, with its token."""
        if not self._may_run:
            return ""
        return format_html(
            '<button class="db-button db-small" formaction="{}" aria-label="Run “{}” now">Run now</button>',
            reverse("admin:console_run_schedule", args=[row.pk]), row.name,
        )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        # A handful of rows, asked for once for the whole page.
        self._states = {state.name: state for state in ScheduleState.objects.all()}
        self._may_run = self.has_change_permission(request)
        found: QuerySet[Any] = super().get_queryset(request)
        return found

    def _state(self, row: Any) -> ScheduleState | None:
        return self._states.get(row.name)


@admin.register(IntervalSchedule)
class IntervalScheduleAdmin(ModelAdmin):
    list_display = ("__str__", "every", "period")


@admin.register(CrontabSchedule)
class CrontabScheduleAdmin(ModelAdmin):
    list_display = ("__str__", "human_readable")


def _given(row: Any) -> dict[str, Any]:
    return {"args": json.loads(row.args or "[]"), "kwargs": json.loads(row.kwargs or "{}")}
