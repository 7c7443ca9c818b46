"""The scheduler's rows, with how their last run went and when the next one is due."""

from typing import Any

# Registers its own page for them, which this one takes the place of.
import django_celery_beat.admin
from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from config.schedules import next_run
from sessions_app.models import ScheduleState

admin.site.unregister(PeriodicTask)


@admin.register(PeriodicTask)
class ScheduleAdmin(django_celery_beat.admin.PeriodicTaskAdmin):  # type: ignore[misc]
    list_display = ("name", "enabled", "scheduler", "last_run", "next_run", "result", "duration")
    readonly_fields = (
        *django_celery_beat.admin.PeriodicTaskAdmin.readonly_fields,
        "last_run", "next_run", "result", "duration",
    )  # fmt: skip
    list_filter = ("enabled",)

    def get_queryset(self, request: HttpRequest) -> Any:
        self._states = {state.name: state for state in ScheduleState.objects.all()}
        return super().get_queryset(request)

    def _state(self, periodic: PeriodicTask) -> ScheduleState | None:
        return self._states.get(periodic.name)

    @admin.display(description="schedule")
    def scheduler(self, periodic: PeriodicTask) -> str:
        return str(periodic.scheduler)

    @admin.display(description="last run")
    def last_run(self, periodic: PeriodicTask) -> Any:
        state = self._state(periodic)
        return None if state is None else state.started_at

    @admin.display(description="next run")
    def next_run(self, periodic: PeriodicTask) -> Any:
        return next_run(periodic, timezone.now())

    @admin.display(description="result")
    def result(self, periodic: PeriodicTask) -> str:
        state = self._state(periodic)
        if state is None:
            return "not run yet"
        told = state.result or ("done" if state.succeeded else "")
        return told if state.succeeded else f"failed: {told}"

    @admin.display(description="seconds")
    def duration(self, periodic: PeriodicTask) -> Any:
        state = self._state(periodic)
        return None if state is None else state.seconds
