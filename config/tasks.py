from datetime import UTC, datetime

from celery import shared_task

import config.schedules  # noqa: F401 - listens to how tasks end
from config import broker


@shared_task
def beat() -> None:
    """Proof that the scheduler sends and a worker takes: /readyz and /metrics show how old it is."""
    broker.record_beat(datetime.now(UTC))
