from celery import shared_task
from django.utils import timezone

from sessions_app import activity, idempotency


@shared_task(name="sessions_app.tasks.forget_idempotent_answers")
def forget_idempotent_answers() -> int:
    return idempotency.forget(timezone.now())


@shared_task(name="sessions_app.tasks.count_activity")
def count_activity() -> int:
    return activity.run(timezone.now())
