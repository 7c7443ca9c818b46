"""Actions over many sessions: a row first, done in small steps by a worker, watched from any page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from config.console import acting
from sessions_app.admin.lists import LongList, ReadOnly
from sessions_app.commits import commit
from sessions_app.models import JobState, OperatorJob, Session
from sessions_app.problems import Problem

# One that has not moved for so long has lost its worker.
LOST = timedelta(minutes=2)
UNFINISHED = (JobState.QUEUED, JobState.RUNNING)
MOVED = ("rows", "done", "refused", "last_refusal", "moved_at", "state", "finished_at")


@dataclass(frozen=True, slots=True)
class Work:
    """What is done to rows: of what kind they are, how many at once, and why some were refused."""

    noun: str
    page: str
    at_once: int
    run: Callable[[OperatorJob, list[int], datetime], list[str]]


def work_of(job: OperatorJob) -> Work:
    return WORK.get(job.action, SESSIONS)


def start(user: Any, action: str, rows: Sequence[int]) -> OperatorJob:
    def work() -> OperatorJob:
        job = OperatorJob.objects.create(user=user, action=action, rows=list(rows), total=len(rows))
        transaction.on_commit(lambda: _send(job.pk))
        return job

    return commit(work)


def run(pk: int) -> None:
    while step(pk, timezone.now()):
        pass


def step(pk: int, now: datetime) -> bool:
    """One row or a few; whether there are more. They leave the list in the transaction in which it is done: a
    worker that dies takes nothing with it, and a second one at the same job waits and takes the next."""
    return commit(lambda: _step(pk, now))


def resume(now: datetime) -> int:
    lost = OperatorJob.objects.filter(state__in=UNFINISHED, moved_at__lt=now - LOST)
    pks = list(lost.values_list("pk", flat=True)[:100])
    for pk in pks:
        _send(pk)
    return len(pks)


def _step(pk: int, now: datetime) -> bool:
    job = OperatorJob.objects.select_for_update().filter(pk=pk, state__in=UNFINISHED).first()
    if job is None:
        return False
    work = work_of(job)
    if chunk := job.rows[: work.at_once]:
        _book(job, len(chunk), work.run(job, chunk, now))
    job.moved_at = now
    job.state = JobState.RUNNING if job.rows else JobState.DONE
    job.finished_at = None if job.rows else now
    job.save(update_fields=MOVED)
    return bool(job.rows)


def _one(job: OperatorJob, rows: list[int], now: datetime) -> list[str]:
    session = Session.objects.select_related("agent").filter(pk=rows[0]).first()
    if session is None:
        return ["It is gone already."]
    try:
        acting.act(job.user, session, acting.ACTIONS[job.action], job.options, now)
    except Problem as problem:
        return [problem.detail]
    return []


SESSIONS = Work("sessions", "sessions_app_session", 1, _one)
# What is no action on a session: each capability adds its own.
WORK: dict[str, Work] = {}


def _book(job: OperatorJob, number: int, refusals: list[str]) -> None:
    job.rows = job.rows[number:]
    job.done += number
    job.refused += len(refusals)
    if refusals:
        job.last_refusal = refusals[-1][:500]


def _send(pk: int) -> None:
    from config.tasks import run_job  # it imports this module

    run_job.delay(pk)


@admin.register(OperatorJob)
class OperatorJobAdmin(ReadOnly, LongList):
    list_display = ("action", "user", "state", "progress", "refused", "created_at", "finished_at")
    list_select_related = ("user",)
    list_filter = ("state",)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("rows")

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/progress/", view(self.progress_view), name="console_job_progress"),
            path("<int:pk>/stop/", view(self.stop_view), name="console_job_stop"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        job = self.get_object(request, object_id)
        if job is None or request.method != "GET" or not self.has_view_permission(request, job):
            answer: HttpResponse = super().change_view(request, object_id, form_url, extra_context)
            return answer
        context = {
            **self.admin_site.each_context(request),
            "title": f"{job.action} · {job.total} {work_of(job).noun}",
            "noun": work_of(job).noun, "back": reverse(f"admin:{work_of(job).page}_changelist"),
            "job": job, "running": job.state in UNFINISHED, "opts": self.opts,
            "may_stop": request.user.has_perm("sessions_app.change_session"),
        }  # fmt: skip
        return TemplateResponse(request, "console/job.html", context)

    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        job = self._job(request, pk)
        return JsonResponse(
            {"state": job.state, "done": job.done, "total": job.total, "refused": job.refused}
        )

    def stop_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        job = self._job(request, pk)
        if request.method == "POST" and request.user.has_perm("sessions_app.change_session"):
            now = timezone.now()
            commit(
                lambda: OperatorJob.objects.filter(pk=pk, state__in=UNFINISHED).update(
                    state=JobState.STOPPED, finished_at=now
                )
            )
            self.log_change(request, job, "Stopped.")
        return redirect("admin:sessions_app_operatorjob_change", pk)

    def _job(self, request: HttpRequest, pk: int) -> OperatorJob:
        job = OperatorJob.objects.filter(pk=pk).first()
        if job is None or not self.has_view_permission(request):
            raise Http404
        return job

    @admin.display(description="progress")
    def progress(self, job: OperatorJob) -> str:
        return f"{job.done} of {job.total}"
