"""The product itself, started for real: its own web command, a database of its own, and how it is asked."""

import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import BenchError
from bench.crew import ROOT
from bench.databases import Databases
from bench.load import Request
from config.processes import LAUNCHER

HOST = "127.0.0.1"
WORKERS = 2
SESSIONS = "/api/v1/sessions"
START_SECONDS = 60
TEMPLATE = "template"


class Installation:
    """A set-up database that products are copied from, and the environment they run in."""

    def __init__(self, databases: Databases, broker_url: str, folder: Path) -> None:
        self._databases = databases
        self._folder = folder
        self._settings = {
            "DAYBOOK_PRODUCTION": "true",
            "DAYBOOK_SECRET_KEY": secrets.token_urlsafe(48),
            "DAYBOOK_ALLOWED_HOSTS": HOST,
            "DAYBOOK_HOST": HOST,
            "DAYBOOK_WEB_WORKERS": str(WORKERS),
            "REDIS_URL": broker_url,
        }
        first = self._environment(databases.create(TEMPLATE), TEMPLATE)
        run_in(first, "manage.py", "migrate", "--verbosity", "0")
        made = run_in(first, "manage.py", "create_api_key", "bench", "--scope", "write", "--agent", "main")
        self._key = made.strip()

    @contextmanager
    def product(self, name: str, fill: Sequence[str] = ()) -> Iterator["Product"]:
        """A running server on a fresh database, with `fill` (as `bench.fill` reads it) stored before."""
        environment = self._environment(self._databases.copy(TEMPLATE, name), name)
        filled = json.loads(run_in(environment, "-m", "bench.fill", *fill)) if fill else []
        with _web(environment, self._folder / f"{name}.log") as address:
            yield Product(address, self._key, environment, filled)

    def _environment(self, database_url: str, name: str) -> dict[str, str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("DAYBOOK_") and name not in ("DATABASE_URL", "REDIS_URL")
        }
        own = {"DATABASE_URL": database_url, "DAYBOOK_DATA_DIR": str(self._folder / name)}
        return {**inherited, **self._settings, **own}


class Product:
    def __init__(self, address: str, key: str, environment: Mapping[str, str], filled: list[str]) -> None:
        self.address = address
        self.environment = environment
        # The ids of the sessions that were there from the start.
        self.filled = filled
        self._headers = {"Authorization": f"Bearer {key}"}

    def request(self, method: str, path: str, payload: object = None) -> Request:
        if payload is None:
            return Request(method, path, self._headers)
        headers = {**self._headers, "Content-Type": "application/json"}
        return Request(method, path, headers, json.dumps(payload).encode())

    def ask(self, request: Request, expected: int) -> Any:
        connection = http.client.HTTPConnection(self.address, timeout=30)
        try:
            connection.request(request.method, request.path, request.body or None, dict(request.headers))
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status != expected:
            told = body[:500].decode(errors="replace")
            raise BenchError(f"{request.method} {request.path} was answered {answer.status}: {told}")
        return json.loads(body)

    def open_sessions(self, label: str, count: int) -> list[str]:
        requests = [
            self.request("POST", SESSIONS, {"key": f"bench:{label}:{place}"}) for place in range(count)
        ]
        return [self.ask(request, 201)["id"] for request in requests]

    def entries_of(self, session: str) -> int:
        entries: int = self.ask(self.request("GET", f"{SESSIONS}/{session}"), 200)["counts"]["entries"]
        return entries


def run_in(environment: Mapping[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BenchError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


@contextmanager
def _web(environment: Mapping[str, str], log: Path) -> Iterator[str]:
    port = _free_port()
    with log.open("wb") as stream:
        # A group of its own: Ctrl-C reaches the benchmark alone, which then stops the server in order.
        server = subprocess.Popen(
            [sys.executable, str(LAUNCHER), str(os.getpid()), sys.executable, "-m", "config.web"],
            cwd=ROOT,
            env={**environment, "DAYBOOK_PORT": str(port)},
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
    try:
        _wait_until_up(server, port, log)
        yield f"{HOST}:{port}"
    finally:
        _stop(server)


def _wait_until_up(server: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        connection = http.client.HTTPConnection(HOST, port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise BenchError(f"the server did not come up: {log.read_text(errors='replace')[-2000:]}")


def _stop(server: "subprocess.Popen[bytes]") -> None:
    server.terminate()
    try:
        server.wait(15)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        port: int = free.getsockname()[1]
        return port
