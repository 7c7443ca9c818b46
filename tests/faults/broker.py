"""A Valkey server of one test, which it may kill and start again on the same files."""

import subprocess
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.embedded_broker import server_binary
from tests.operations.daybook import free_port, until


class Broker:
    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._port = free_port()
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self.start()

    def start(self) -> None:
        options = ["--port", str(self._port), "--bind", "127.0.0.1", "--appendonly", "yes", "--save", ""]
        self._process = subprocess.Popen(
            [str(server_binary()), *options, "--dir", str(self._folder)], stdout=subprocess.DEVNULL
        )
        until(self._answers, "the broker")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url, retry=Retry(NoBackoff(), 0)) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False
