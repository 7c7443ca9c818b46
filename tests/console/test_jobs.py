"""Actions over many rows: each is done once, counted and logged, whatever happens to the workers."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.utils import timezone

from config.console import acting, jobs
from sessions_app.models import JobState, OperatorJob, Session
from tests.conftest import Api

from .conftest import Member


@pytest.fixture
def job(api: Api, monkeypatch: pytest.MonkeyPatch) -> OperatorJob:
    """Three sessions to reset, and one that is gone."""
    monkeypatch.setattr(jobs, "_send", lambda pk: None)
    for number in range(3):
        api.open(f"k{number}")
    rows = list(Session.objects.order_by("pk").values_list("pk", flat=True))
    return jobs.start(User.objects.create_superuser("root"), "reset", [*rows, 10**9])


def test_a_job_moves_row_by_row_and_counts_what_was_refused(job: OperatorJob) -> None:
    progress, more = [], True
    while more:
        more = jobs.step(job.pk, timezone.now())
        job.refresh_from_db()
        progress.append((job.done, job.state))
    assert progress == [
        (1, JobState.RUNNING),
        (2, JobState.RUNNING),
        (3, JobState.RUNNING),
        (4, JobState.DONE),
    ]
    assert (job.refused, job.last_refusal) == (1, "It is gone already.")
    assert Session.objects.filter(end_reason="reset").count() == 3
    assert LogEntry.objects.count() == 3


def test_a_worker_that_dies_in_a_row_loses_none_and_does_none_twice(
    job: OperatorJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def dies(*_: Any) -> None:
        raise Killed

    assert jobs.step(job.pk, timezone.now())
    with monkeypatch.context() as patched:
        # The action itself was done; the end comes before all of it is stored.
        patched.setattr(acting, "note", dies)
        with pytest.raises(Killed):
            jobs.step(job.pk, timezone.now())
    job.refresh_from_db()
    assert (job.done, len(job.rows), job.state) == (1, 3, JobState.RUNNING)
    assert Session.objects.filter(end_reason="reset").count() == 1
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.done, job.refused, job.state) == (4, 1, JobState.DONE)
    assert (Session.objects.filter(end_reason="reset").count(), LogEntry.objects.count()) == (3, 3)


def test_what_cannot_be_logged_is_not_done(job: OperatorJob, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise DatabaseError("no room")

    session = Session.objects.order_by("pk").first()
    assert session is not None
    monkeypatch.setattr(acting, "note", full)
    with pytest.raises(DatabaseError):
        acting.act(job.user, session, acting.ACTIONS["erase"], {}, timezone.now())
    assert Session.objects.filter(pk=session.pk).exists()


def test_one_without_rows_is_done_at_once_and_one_that_was_stopped_stays_so(job: OperatorJob) -> None:
    empty = jobs.start(None, "reset", [])
    assert not jobs.step(empty.pk, timezone.now())
    empty.refresh_from_db()
    assert empty.state == JobState.DONE
    OperatorJob.objects.filter(pk=job.pk).update(state=JobState.STOPPED)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.done, job.state) == (0, JobState.STOPPED)


def test_a_job_that_lost_its_worker_is_sent_again(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr(jobs, "_send", sent.append)
    now = timezone.now()
    lost = OperatorJob.objects.create(action="reset", moved_at=now - timedelta(hours=1))
    OperatorJob.objects.create(action="reset", moved_at=now)
    OperatorJob.objects.create(action="reset", moved_at=now - timedelta(hours=1), state=JobState.DONE)
    assert (jobs.resume(now), sent) == (1, [lost.pk])


def test_all_that_fit_are_reset_by_one_job(api: Api, member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_send", lambda pk: None)
    for key in ("wanted:1", "wanted:2", "other"):
        api.open(key)
    address = "/admin/sessions_app/session/all/?q=wanted"
    assert member("viewer").post(address, {"do": "reset", "sure": "reset"}).status_code == 403
    operator = member("operator")
    asked = operator.get(address).content.decode()
    assert "2 sessions" in asked
    assert b"Type the name" in operator.post(address, {"do": "reset", "sure": "yes"}).content
    assert not OperatorJob.objects.exists()
    answer: Any = operator.post(address, {"do": "reset", "sure": "reset"})
    job = OperatorJob.objects.get()
    assert answer.url == f"/admin/sessions_app/operatorjob/{job.pk}/change/"
    wanted = Session.objects.filter(key__startswith="wanted").order_by("pk").values_list("pk", flat=True)
    assert (job.action, job.rows, job.total) == ("reset", list(wanted), 2)


def test_too_many_at_once_are_refused(api: Api, member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.console.sessions.MOST_AT_ONCE", 1)
    for key in ("a", "b"):
        api.open(key)
    operator = member("operator")
    text = operator.post(
        "/admin/sessions_app/session/all/", {"do": "erase", "sure": "erase"}
    ).content.decode()
    assert ["That is too many at once" in text, "More than 1 sessions" in text] == [True, True]
    assert (OperatorJob.objects.count(), Session.objects.count()) == (0, 2)
