"""The Redis (or Valkey) server behind Celery: one client, what waits in its queues, when beat last beat."""

from datetime import UTC, datetime
from functools import cache

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

BEAT_KEY = "daybook:beat"

Unavailable = redis.RedisError


@cache
def client() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=2,
        socket_connect_timeout=2,
        decode_responses=True,
        # Once more at once, for a connection that a restarted server closed; the default waits for seconds.
        retry=Retry(NoBackoff(), 1),
    )


def answers() -> bool:
    return bool(client().ping())


def queue_depths() -> dict[str, int]:
    """Tasks that wait for a worker, by queue; and those a worker has taken but not finished."""
    queue = settings.CELERY_TASK_DEFAULT_QUEUE
    with client().pipeline(transaction=False) as pipeline:
        pipeline.llen(queue)
        pipeline.hlen("unacked")
        waiting, taken = pipeline.execute()
    return {queue: waiting, "taken": taken}


def record_beat(now: datetime) -> None:
    client().set(BEAT_KEY, now.timestamp())


def last_beat() -> datetime | None:
    written = client().get(BEAT_KEY)
    return datetime.fromtimestamp(float(written), UTC) if isinstance(written, str) else None
