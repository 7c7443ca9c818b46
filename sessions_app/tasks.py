from typing import Any
from uuid import UUID

import structlog
from celery import shared_task
from celery.signals import worker_process_shutdown
from django.utils import timezone

from sessions_app import activity, consolidation_jobs, idempotency, imports, retention, runs
from sessions_app.embedding import NoEmbeddings
from sessions_app.engines import EXTRACTIVE, LLM
from sessions_app.rounds import Rounds
from sessions_app.search import indexing, vectors
from sessions_app.search.duty import work_off

log = structlog.get_logger(__name__)

# A model may take a minute to answer: what is under way at the end is done again by another process.
LAST_SECONDS = 2
# Long enough to catch up by thousands, short enough to leave the worker to others.
SEARCH_SECONDS = 20.0


@shared_task(name="sessions_app.tasks.forget_idempotent_answers")
def forget_idempotent_answers() -> int:
    return idempotency.forget(timezone.now())


def _round(engine: str) -> Rounds:
    return Rounds(lambda stopping: consolidation_jobs.work_off(timezone.now, stopping, engine))


rounds = [_round(engine) for engine in (EXTRACTIVE, LLM)]


@shared_task(name="sessions_app.tasks.consolidate_due")
def consolidate_due() -> str:
    runs.settle(timezone.now())
    queued = consolidation_jobs.find_due(timezone.now)
    for each in rounds:
        each.ask()
    return f"{queued} queued"


@worker_process_shutdown.connect(weak=False)
def finish_round(**_: Any) -> None:
    for each in rounds:
        each.finish(LAST_SECONDS)


@shared_task(name="sessions_app.tasks.feed_search")
def feed_search() -> int:
    return work_off("index", indexing.step, SEARCH_SECONDS) if indexing.is_due(timezone.now()) else 0


@shared_task(name="sessions_app.tasks.embed_messages")
def embed_messages() -> int:
    try:
        return work_off(vectors.DUTY, vectors.step, SEARCH_SECONDS) if vectors.is_due() else 0
    except NoEmbeddings as missing:
        # What waits stays marked; the next run tries again.
        log.warning("no vectors", reason=str(missing))
        return 0


@shared_task(name="sessions_app.tasks.count_activity")
def count_activity() -> int:
    return activity.run(timezone.now())


@shared_task(name="sessions_app.tasks.run_import")
def run_import(uid: str) -> None:
    imports.run(UUID(uid), timezone.now())


@shared_task(name="sessions_app.tasks.resume_imports")
def resume_imports() -> int:
    return imports.resume(timezone.now())


@shared_task(name="sessions_app.tasks.apply_retention")
def apply_retention() -> int:
    return retention.run()
