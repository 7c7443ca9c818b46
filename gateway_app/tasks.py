import threading
from typing import Any

from celery import shared_task
from celery.signals import worker_process_shutdown
from django.conf import settings
from django.utils import timezone

from gateway_app import dispatch, reflection_schedule, sweep
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


@worker_process_shutdown.connect(weak=False)
def finish_round(**_: Any) -> None:
    rounds.finish(settings.WEBHOOK_TIMEOUT_SECONDS + 2)
