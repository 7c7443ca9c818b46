"""How the last run of each schedule went: noted when a task ends that the scheduler has sent."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from celery import Task
from celery.signals import task_postrun, task_prerun
from django.db import DatabaseError
from django.db.models import F
from django.utils import timezone

from sessions_app.commits import commit
from sessions_app.models import ScheduleState

# The header by which the scheduler says which of its rows it has sent.
SCHEDULE = "periodic_task_name"
SUCCEEDED = "SUCCESS"

log = structlog.get_logger(__name__)
_began: dict[str, tuple[datetime, float]] = {}


@task_prerun.connect(weak=False)
def note_start(task_id: str, task: Task[Any, Any], **_: Any) -> None:
    if _schedule(task):
        _began[task_id] = timezone.now(), time.monotonic()


@task_postrun.connect(weak=False)
def note_end(task_id: str, task: Task[Any, Any], retval: Any, state: str | None, **_: Any) -> None:
    name = _schedule(task)
    if not name or task_id not in _began:
        return
    started_at, began = _began.pop(task_id)
    try:
        note(name, started_at, time.monotonic() - began, succeeded=state == SUCCEEDED, result=retval)
    except DatabaseError as error:
        # What the task did is done; that nobody can look it up is no reason to do it again.
        log.warning("a run of a schedule was not noted", schedule=name, error=str(error).strip())


def _schedule(task: Task[Any, Any]) -> str | None:
    """A header stands among the request's own names, or below them where the task was called in place."""
    found: str | None = task.request.get(SCHEDULE) or (task.request.get("headers") or {}).get(SCHEDULE)
    return found


def note(name: str, started_at: datetime, seconds: float, *, succeeded: bool, result: Any) -> None:
    told = {
        "started_at": started_at,
        "seconds": round(seconds, 3),
        "succeeded": succeeded,
        "result": "" if result is None else str(result)[:500],
    }
    failures = 0 if succeeded else 1

    def work() -> None:
        ours = ScheduleState.objects.filter(name=name)
        if not ours.update(**told, runs=F("runs") + 1, failures=F("failures") + failures):
            ScheduleState.objects.update_or_create(name=name, defaults={**told, "failures": failures})

    commit(work)


def next_run(periodic: Any, now: datetime) -> datetime | None:
    """Of a row of the scheduler; None where it is switched off."""
    if not periodic.enabled:
        return None
    last = periodic.last_run_at or periodic.date_changed or now
    remaining: timedelta = periodic.schedule.remaining_estimate(last)
    due: datetime = now + remaining
    return max(due, now).astimezone(UTC)
