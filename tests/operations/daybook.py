"""A Daybook in processes of its own, on a data directory and a port of its own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import httpx
import psutil

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 90.0

T = TypeVar("T")


def until(look: Callable[[], T | None], what: str) -> T:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE:g} s for {what}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def clean_environment(**variables: str) -> dict[str, str]:
    ours = ("DAYBOOK_", "DATABASE_URL", "REDIS_URL", "PROMETHEUS_", "DJANGO_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | variables


def descendants(pid: int) -> set[int]:
    return {child.pid for child in psutil.Process(pid).children(recursive=True)}


def alive(pids: set[int]) -> set[int]:
    """Zombies are dead: who collects them is not our matter."""
    return {pid for pid in pids if _state(pid) not in (None, psutil.STATUS_ZOMBIE)}


def _state(pid: int) -> str | None:
    try:
        state: str = psutil.Process(pid).status()
    except psutil.NoSuchProcess:
        return None
    return state


class Daybook:
    def __init__(self, data_dir: Path, **variables: str) -> None:
        data_dir.parent.mkdir(parents=True, exist_ok=True)
        self.data_dir = data_dir
        self.port = free_port()
        self.log = data_dir.parent / f"{data_dir.name}.log"
        self.environment = clean_environment(
            DAYBOOK_DATA_DIR=str(data_dir),
            DAYBOOK_WEB_WORKERS="1",
            DAYBOOK_WORKER_CONCURRENCY="1",
            **variables,
        )
        self.process: subprocess.Popen[bytes] | None = None
        self.family: set[int] = set()

    def start(self) -> "Daybook":
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--port", str(self.port)],
                cwd=ROOT,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def ready(self) -> "Daybook":
        until(
            lambda: self.says("Daybook is ready") or self._ended(), f"Daybook to be ready:\n{self.output()}"
        )
        assert not self._ended(), self.output()
        return self

    def output(self) -> str:
        return self.log.read_text()

    def says(self, text: str) -> bool:
        return text in self.output()

    def get(self, path: str, **headers: str) -> httpx.Response:
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", headers=headers, timeout=20)

    def post(self, path: str, key: str, body: dict[str, str]) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.post(f"http://127.0.0.1:{self.port}{path}", headers=headers, json=body, timeout=20)

    def status(self, path: str) -> int:
        """0 while nobody answers."""
        try:
            return self.get(path).status_code
        except httpx.TransportError:
            return 0

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def remember_family(self) -> set[int]:
        self.family = {self.pid} | descendants(self.pid)
        return self.family

    def send(self, number: signal.Signals) -> int:
        assert self.process is not None
        self.remember_family()
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def end(self) -> None:
        if self.process is not None and not self._ended():
            self.send(signal.SIGTERM)

    def _ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None
