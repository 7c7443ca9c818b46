from datetime import UTC, datetime, timedelta

from celery import shared_task

import config.schedules  # noqa: F401 - listens to how tasks end
from config import broker
from config.console import jobs


@shared_task
def beat() -> None:
    """Proof that the scheduler sends and a worker takes: /readyz and /metrics show how old it is."""
    broker.record_beat(datetime.now(UTC))


@shared_task
def run_job(pk: int) -> None:
    jobs.run(pk)


@shared_task
def resume_jobs() -> int:
    """Picks up what a lost worker left, and forgets workers that are gone."""
    now = datetime.now(UTC)
    broker.forget_workers(now - timedelta(days=1))
    return jobs.resume(now)
