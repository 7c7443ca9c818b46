"""Schedules: when each ran last and runs next, run now, on and off. Who may only look runs nothing."""

import json
from datetime import datetime
from typing import Any

from celery import current_app
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
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
from config.schedules import next_run
from sessions_app.admin.lists import ModelAdmin
from sessions_app.models import ScheduleState

for model in (ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule):
    admin.site.unregister(model)


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(ModelAdmin):
    form = PeriodicTaskForm
    list_display = ("name", "enabled", "how_often", "last_run", "next_run_at", "result", "seconds")
    list_filter = ("enabled",)
    list_select_related = ("interval", "crontab", "solar", "clocked")
    search_fields = ("name", "task")
    readonly_fields = ("last_run_at", "total_run_count", "last_run", "next_run_at", "result", "seconds")
    actions = ("run_now", "switch_on", "switch_off")
    fieldsets = (
        (None, {"fields": ("name", "regtask", "task", "enabled", "description")}),
        ("When", {"fields": ("interval", "crontab", "clocked", "start_time", "one_off", "next_run_at")}),
        ("How it went", {"fields": ("last_run", "result", "seconds", "total_run_count")}),
        ("With", {"fields": ("args", "kwargs", "expires", "expire_seconds", "queue", "priority")}),
    )

    @admin.action(description="Run selected schedules now", permissions=["change"])
    def run_now(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        current_app.loader.import_default_modules()
        for row in queryset:
            self._run(request, row)

    def _run(self, request: HttpRequest, row: Any) -> None:
        task = current_app.tasks.get(row.task)
        if task is None:
            self.message_user(request, f"{row.name}: there is no task {row.task}.", messages.ERROR)
            return
        try:
            current_app.send_task(row.task, **_given(row))
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

    @admin.display(description="how often")
    def how_often(self, row: Any) -> str:
        return str(row.interval or row.crontab or row.clocked or row.solar or "never")

    @admin.display(description="next run")
    def next_run_at(self, row: Any) -> datetime | str | None:
        return next_run(row, timezone.now()) if row.enabled else "off"

    @admin.display(description="last run")
    def last_run(self, row: Any) -> datetime | None:
        state = self._state(row)
        return None if state is None else state.started_at

    @admin.display(description="result")
    def result(self, row: Any) -> str:
        state = self._state(row)
        if state is None:
            return "not run yet"
        told = state.result or ("done" if state.succeeded else "")
        return told if state.succeeded else f"failed: {told}"

    @admin.display(description="seconds")
    def seconds(self, row: Any) -> float | None:
        state = self._state(row)
        return None if state is None else state.seconds

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        # A handful of rows, asked for once for the whole page.
        self._states = {state.name: state for state in ScheduleState.objects.all()}
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
