"""So many requests a minute for each key, counted in Redis so that all processes count together."""

from datetime import datetime
from functools import cache

import redis
import structlog
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from sessions_app.problems import TooManyRequests

WAIT_SECONDS = 1

log = structlog.get_logger(__name__)


def check(key_id: int, now: datetime) -> None:
    if not settings.RATE_LIMIT:
        return
    minute, second = divmod(int(now.timestamp()), 60)
    try:
        used = _count(f"daybook:rate:{key_id}:{minute}")
    except redis.RedisError as error:
        # A limit that cannot be counted must not stop the agents.
        log.warning("rate limit not counted", error=str(error))
        return
    if used > settings.RATE_LIMIT:
        raise TooManyRequests(
            f"This key may send {settings.RATE_LIMIT} requests a minute.",
            headers={"Retry-After": str(60 - second)},
        )


def _count(name: str) -> int:
    with _client().pipeline() as together:
        together.incr(name)
        together.expire(name, 120)
        used: int = together.execute()[0]
    return used


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=WAIT_SECONDS,
        socket_connect_timeout=WAIT_SECONDS,
        # Every request waits for this: once more at once, and then without it.
        retry=Retry(NoBackoff(), 1),
    )
