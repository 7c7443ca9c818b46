"""A Celery worker in processes of its own, on the database of the test and a broker that nobody else asks."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import redis

from config.celery import app
from tests.operations.daybook import ROOT, descendants, until

from .crew import environment

READY = " ready."


def broker_of_the_tests(number: int) -> str:
    return urlunsplit(urlsplit(os.environ["REDIS_URL"])._replace(path=f"/{number}"))


class Worker:
    def __init__(self, log: Path, broker: str, **variables: str) -> None:
        self.broker = broker
        self._variables = variables
        self._log = log
        self.forget_tasks()
        self.start()

    def start(self) -> None:
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", "config", "worker", "--loglevel", "INFO"],
                cwd=ROOT,
                env=environment(REDIS_URL=self.broker, DAYBOOK_WORKER_CONCURRENCY="1", **self._variables),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        until(lambda: READY in self._log.read_text(), "the worker to be ready")

    def ask(self, task: str) -> None:
        """What beat does when a task's time has come."""
        with app.connection_for_write(self.broker) as connection:
            app.send_task(task, connection=connection)

    def kill(self) -> None:
        """Without a word, whoever does the work first."""
        for pid in [*descendants(self._process.pid), self._process.pid]:
            os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def end(self) -> None:
        if self._process.poll() is None:
            self.kill()
        self.forget_tasks()

    def forget_tasks(self) -> None:
        with redis.Redis.from_url(self.broker) as broker:
            broker.flushdb()
