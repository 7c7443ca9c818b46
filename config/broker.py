"""The Redis (or Valkey) server behind Celery: one client, what waits in its queues, when beat last beat."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

BEAT_KEY = "daybook:beat"
SCHEDULER_KEY = "daybook:scheduler"
WORKERS_KEY = "daybook:workers"

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
    return _moment(client().get(BEAT_KEY))


def record_scheduler(now: datetime) -> None:
    """The scheduler has sent something: it is there, whether a worker takes it or not."""
    client().set(SCHEDULER_KEY, now.timestamp())


def record_worker(name: str, now: datetime) -> None:
    client().hset(WORKERS_KEY, name, str(now.timestamp()))


@dataclass(frozen=True, slots=True)
class Signs:
    """When each was last heard of."""

    beat: datetime | None
    scheduler: datetime | None
    workers: dict[str, datetime]
    waiting: int


def signs() -> Signs:
    """All signs of life in one round trip."""
    with client().pipeline(transaction=False) as pipeline:
        pipeline.get(BEAT_KEY)
        pipeline.get(SCHEDULER_KEY)
        pipeline.hgetall(WORKERS_KEY)
        pipeline.llen(settings.CELERY_TASK_DEFAULT_QUEUE)
        beat, scheduler, workers, waiting = pipeline.execute()
    return Signs(
        _moment(beat),
        _moment(scheduler),
        {n: datetime.fromtimestamp(float(at), UTC) for n, at in workers.items()},
        waiting,
    )


def forget_workers(before: datetime) -> None:
    """Workers that are gone for good: a name may never come back."""
    for name, at in signs().workers.items():
        if at < before:
            client().hdel(WORKERS_KEY, name)


def _moment(written: object) -> datetime | None:
    return datetime.fromtimestamp(float(written), UTC) if isinstance(written, str) else None
