"""Calls a worker to rows that wait, off the path of the request, which waits for no broker."""

import threading

import structlog
from celery import current_app
from kombu.exceptions import KombuError, OperationalError

AGAIN = {"max_retries": 3, "interval_start": 0, "interval_step": 0.2}

log = structlog.get_logger(__name__)


class Courier:
    """One thread per process sends the task; calls that come while it sends are answered by one more."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._called = threading.Event()
        self._start = threading.Lock()
        self._thread: threading.Thread | None = None

    def call(self) -> None:
        self._called.set()
        with self._start:
            # Not alive: never started, or left behind in the process that this one was forked from.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="courier", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            self._called.wait()
            self._called.clear()
            try:
                # Again a few times, for a connection that a restarted broker closed.
                current_app.send_task(self._task, retry=True, retry_policy=AGAIN)
            except (KombuError, OperationalError, OSError) as error:
                # The rows are stored, and the schedule looks at them by itself.
                log.warning("no worker was called", task=self._task, error=str(error))
