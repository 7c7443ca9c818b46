"""Lets a worker process do slow work while its tasks go on: what hangs outside must not hold up a sweep."""

import threading
from collections.abc import Callable

import structlog
from django.db import connections

log = structlog.get_logger(__name__)


class Rounds:
    """One thread per process, which lives as long as there is something to do."""

    def __init__(self, run: Callable[[threading.Event], object]) -> None:
        self._round = run
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked = False
        self._stopping = threading.Event()

    def ask(self) -> None:
        """There is a round after this moment: one that runs already may have looked before it."""
        with self._lock:
            self._asked = True
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="rounds", daemon=True)
                self._thread.start()

    def finish(self, seconds: float) -> None:
        """Nothing new is begun; what is under way may end."""
        self._stopping.set()
        thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join(seconds)

    def _run(self) -> None:
        while self._go_on():
            try:
                self._round(self._stopping)
            except Exception:
                # The rows are there still; the schedule asks again.
                log.exception("a round failed")
            finally:
                connections.close_all()

    def _go_on(self) -> bool:
        with self._lock:
            asked, self._asked = self._asked and not self._stopping.is_set(), False
            if not asked:
                self._thread = None
            return asked
