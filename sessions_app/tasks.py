from uuid import UUID

from celery import shared_task
from django.utils import timezone

from sessions_app import idempotency, imports, retention


@shared_task(name="sessions_app.tasks.forget_idempotent_answers")
def forget_idempotent_answers() -> int:
    return idempotency.forget(timezone.now())


@shared_task(name="sessions_app.tasks.run_import")
def run_import(uid: str) -> None:
    imports.run(UUID(uid), timezone.now())


@shared_task(name="sessions_app.tasks.resume_imports")
def resume_imports() -> int:
    return imports.resume(timezone.now())


@shared_task(name="sessions_app.tasks.apply_retention")
def apply_retention() -> int:
    return retention.run()
