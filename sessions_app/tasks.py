import threading
from typing import Any

from celery import shared_task
from celery.signals import worker_process_shutdown
from django.utils import timezone

from sessions_app import consolidation_jobs, idempotency
from sessions_app.rounds import Rounds

# A model may take a minute to answer: what is under way at the end is done again by another process.
LAST_SECONDS = 2


@shared_task(name="sessions_app.tasks.forget_idempotent_answers")
def forget_idempotent_answers() -> int:
    return idempotency.forget(timezone.now())


def _round(stopping: threading.Event) -> None:
    consolidation_jobs.work_off(timezone.now, stopping)


rounds = Rounds(_round)


@shared_task(name="sessions_app.tasks.consolidate_due")
def consolidate_due() -> str:
    queued = consolidation_jobs.find_due(timezone.now)
    rounds.ask()
    return f"{queued} queued"


@worker_process_shutdown.connect(weak=False)
def finish_round(**_: Any) -> None:
    rounds.finish(LAST_SECONDS)
