from celery import shared_task
from django.utils import timezone

from sessions_app import idempotency


@shared_task(name="sessions_app.tasks.forget_idempotent_answers")
def forget_idempotent_answers() -> int:
    return idempotency.forget(timezone.now())
