import time

import structlog
from celery import shared_task
from django.utils import timezone

from sessions_app.embedding import NoEmbeddings
from skills_app import tracking, vectors

# Of the time until the next one starts.
LONGEST_SECONDS = 50.0
EMBED = "skills_app.tasks.embed_queries"

log = structlog.get_logger(__name__)


@shared_task(name="skills_app.tasks.abandon_late")
def abandon_late() -> int:
    """Gives up what was never finished; the next run goes on where the time was up."""
    deadline, abandoned = time.monotonic() + LONGEST_SECONDS, 0
    while time.monotonic() < deadline and (count := tracking.abandon_step(timezone.now())):
        abandoned += count
    return abandoned


@shared_task(name=EMBED)
def embed_queries() -> int:
    """Makes the vectors that wait for a server, or are of a model that is no longer used."""
    deadline, made = time.monotonic() + LONGEST_SECONDS, 0
    try:
        while time.monotonic() < deadline and (count := vectors.renew_batch()):
            made += count
    except NoEmbeddings as error:
        # They wait, found by their letters meanwhile; the schedule asks again.
        log.warning("queries of skills wait for their vectors", error=str(error))
    return made
