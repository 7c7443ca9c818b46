"""Live tail: the table is the truth, a message over Redis only the wake-up.

An append leaves the session's id with one thread per process, which publishes what has gathered. One other
thread per process listens and wakes the streams of that process. A lost wake-up costs a stream one interval.
"""

import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager

import redis
import structlog
from django.conf import settings
from django.db import connection

CHANNEL = "daybook:appended"
GATHER_SECONDS = 0.02
LOOK_AGAIN_SECONDS = 2.0
RETRY_SECONDS = 1.0

log = structlog.get_logger(__name__)


class Announcer:
    """Publishes the ids of sessions that got messages, off the path of the request."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()
        self._some = threading.Event()
        self._start = threading.Lock()
        self._thread: threading.Thread | None = None

    def announce(self, session_id: str) -> None:
        self._waiting.append(session_id)
        if not self._some.is_set():
            self._some.set()
        # Not alive: never started, or left behind in the process that this one was forked from.
        if self._thread is None or not self._thread.is_alive():
            self._run()

    def _run(self) -> None:
        with self._start:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._publish, name="announcer", daemon=True)
                self._thread.start()

    def _publish(self) -> None:
        client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2)
        while True:
            self._some.wait()
            time.sleep(GATHER_SECONDS)
            self._some.clear()
            gathered = {self._waiting.popleft() for _ in range(len(self._waiting))}
            try:
                client.publish(CHANNEL, " ".join(gathered))
            except redis.RedisError as error:
                # Streams look again by themselves; the broker's health is shown elsewhere.
                log.debug("announcement_lost", error=str(error))


class Bell:
    """Wakes the streams of this process that wait for one session."""

    def __init__(self) -> None:
        self._streams: dict[str, set[threading.Event]] = defaultdict(set)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def listening(self, session_id: str) -> Iterator[threading.Event]:
        rung = threading.Event()
        with self._lock:
            self._streams[session_id].add(rung)
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="bell", daemon=True)
                self._thread.start()
        try:
            yield rung
        finally:
            with self._lock:
                self._streams[session_id].discard(rung)
                if not self._streams[session_id]:
                    del self._streams[session_id]

    def ring(self, session_ids: list[str]) -> None:
        with self._lock:
            rung = [event for session_id in session_ids for event in self._streams.get(session_id, ())]
        for event in rung:
            event.set()

    def _listen(self) -> None:
        while True:
            try:
                with redis.Redis.from_url(settings.REDIS_URL).pubsub(  # type: ignore[no-untyped-call]
                    ignore_subscribe_messages=True
                ) as channel:
                    channel.subscribe(CHANNEL)
                    for message in channel.listen():
                        self.ring(message["data"].decode().split())
            except redis.RedisError as error:
                log.debug("bell_lost", error=str(error))
                time.sleep(RETRY_SECONDS)


announcer = Announcer()
bell = Bell()


def release_connection() -> None:
    """A stream that waits must not keep a database connection from others."""
    if not connection.in_atomic_block:
        connection.close()
