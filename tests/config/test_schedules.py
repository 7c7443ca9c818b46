"""What is told of the scheduler's rows: the last run, the next one, result and duration."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django_celery_beat.models import PeriodicTask

from config.celery import app
from config.schedules import next_run, note
from sessions_app.models import ScheduleState

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
OURS = {
    "sessions_app.tasks.consolidate_due",
    "gateway_app.tasks.write_reflections",
    "gateway_app.tasks.sweep_sessions",
}


@pytest.mark.django_db
def test_migrations_make_the_rows_and_every_task_exists() -> None:
    app.loader.import_default_modules()
    tasks = set(PeriodicTask.objects.exclude(task__startswith="celery.").values_list("task", flat=True))
    assert tasks >= OURS
    assert tasks <= set(app.tasks)


@pytest.mark.django_db
def test_runs_are_noted_with_their_result_and_counted() -> None:
    note("Sweep", NOON, 0.25, succeeded=True, result="3 queued")
    note("Sweep", NOON + timedelta(minutes=1), 1.5, succeeded=False, result=RuntimeError("no"))
    [state] = ScheduleState.objects.all()
    assert (state.started_at, state.seconds, state.succeeded) == (NOON + timedelta(minutes=1), 1.5, False)
    assert (state.result, state.runs, state.failures) == ("no", 2, 1)


@pytest.mark.django_db
def test_a_task_that_the_scheduler_sent_is_noted_when_it_ends() -> None:
    app.loader.import_default_modules()
    task = app.tasks["sessions_app.tasks.forget_idempotent_answers"]
    task.apply(headers={"periodic_task_name": "Forget"})
    task.apply()
    [state] = ScheduleState.objects.all()
    assert (state.name, state.succeeded, state.result, state.runs) == ("Forget", True, "0", 1)


@pytest.mark.django_db
def test_the_page_of_the_schedules_shows_them() -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("operator"))
    periodic = PeriodicTask.objects.get(task="gateway_app.tasks.write_reflections")
    note(periodic.name, NOON, 0.25, succeeded=True, result="2 written")
    page = client.get("/admin/django_celery_beat/periodictask/").content.decode()
    assert "2 written" in page
    assert "250 ms" in page
    assert client.get(f"/admin/django_celery_beat/periodictask/{periodic.pk}/change/").status_code == 200


@pytest.mark.django_db
def test_the_next_run_is_one_interval_after_the_last() -> None:
    periodic = PeriodicTask.objects.get(task="gateway_app.tasks.write_reflections")
    now = datetime.now(UTC)
    periodic.last_run_at = now - timedelta(seconds=20)
    found = next_run(periodic, now)
    assert found is not None
    assert abs((found - now).total_seconds() - 40) < 2
    periodic.enabled = False
    assert next_run(periodic, now) is None
