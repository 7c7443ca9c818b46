import threading
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_process_shutdown
from django.conf import settings
from django.utils import timezone

from gateway_app import dispatch, personal_data, reflection_schedule, sweep
from sessions_app.rounds import Rounds


@shared_task(name="gateway_app.tasks.sweep_sessions")
def sweep_sessions() -> int:
    return sweep.run()


@shared_task(name="gateway_app.tasks.write_reflections")
def write_reflections() -> str:
    return f"{reflection_schedule.run(timezone.now)} written"


def _round(stopping: threading.Event) -> None:
    dispatch.deliver_due(timezone.now, stopping=stopping)


rounds = Rounds(_round)


@shared_task(name="gateway_app.tasks.deliver_due")
def deliver_due() -> None:
    rounds.ask()


@shared_task(name="gateway_app.tasks.erase_person")
def erase_person(uid: str) -> None:
    personal_data.run(UUID(uid), timezone.now())


@shared_task(name="gateway_app.tasks.resume_erasures")
def resume_erasures() -> int:
    return personal_data.resume(timezone.now())


@worker_process_shutdown.connect(weak=False)
def finish_round(**_: Any) -> None:
    rounds.finish(settings.WEBHOOK_TIMEOUT_SECONDS + 2)
