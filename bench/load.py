"""Load over HTTP on a fixed number of kept connections; each waits for its answer before it asks again."""

import json
import math
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench import BenchError
from bench.crew import run_crew
from bench.figures import Figures

LUA = Path(__file__).with_name("wrk.lua")
CONNECTIONS = 16
# Above any latency that is still worth a number; wrk counts what takes longer as an error.
TIMEOUT_SECONDS = 20
PROCESSES = 2


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def encode(self, host: str) -> bytes:
        headers = {"Host": host, **self.headers}
        if self.body:
            headers["Content-Length"] = str(len(self.body))
        lines = [
            f"{self.method} {self.path} HTTP/1.1",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + self.body


@dataclass(frozen=True)
class Outcome:
    figures: Figures
    answered: int
    generator_cpu: float


class Generator(Protocol):
    name: str
    note: str

    def run(self, address: str, requests: Sequence[Request], seconds: float) -> Outcome: ...


class Wrk:
    name = "wrk"
    note = "wrk, one thread"

    def run(self, address: str, requests: Sequence[Request], seconds: float) -> Outcome:
        with _request_file(address, requests) as file:
            command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{math.ceil(seconds)}s"]
            command += [
                f"--timeout={TIMEOUT_SECONDS}s",
                "-s",
                str(LUA),
                f"http://{address}/",
                "--",
                file,
            ]
            clock = _ChildClock()
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=seconds + 2 * TIMEOUT_SECONDS, check=False
            )
            cpu = clock.share()
        if done.returncode:
            raise BenchError(f"wrk ended with {done.returncode}: {done.stderr or done.stdout}")
        figures, answered = parse_wrk(done.stdout)
        return Outcome(figures, answered, cpu)


class Sockets:
    name = "python"
    note = f"{PROCESSES} Python processes on raw sockets, possibly the bottleneck"

    def run(self, address: str, requests: Sequence[Request], seconds: float) -> Outcome:
        with _request_file(address, requests) as file:
            arguments = [address, file, str(CONNECTIONS // PROCESSES)]
            clock = _ChildClock()
            work = run_crew("bench.sockets", arguments, processes=PROCESSES, seconds=seconds)
            return Outcome(work.figures, len(work.latencies), clock.share())


def choose_generator(wanted: str, say: Callable[[str], None]) -> Generator:
    """`wanted` is wrk, python or auto: wrk when it is here or can be installed, else our own."""
    if wanted == "python":
        return Sockets()
    if not shutil.which("wrk") and os.geteuid() == 0 and shutil.which("apt-get"):
        say("wrk is not here: trying apt-get install wrk")
        subprocess.run(
            ["apt-get", "install", "-y", "-q", "wrk"], capture_output=True, timeout=120, check=False
        )
    if shutil.which("wrk"):
        return Wrk()
    if wanted == "wrk":
        raise BenchError("wrk is not on the PATH and could not be installed")
    say("wrk is not here: the load comes from Python and may be the bottleneck")
    return Sockets()


def parse_wrk(output: str) -> tuple[Figures, int]:
    """Reads the line that wrk.lua writes; anything but answers below 400 is a failure."""
    line = next((line for line in output.splitlines() if line.startswith("{")), None)
    if line is None:
        raise BenchError(f"wrk gave no figures: {output}")
    told = json.loads(line)
    faults = {kind: count for kind, count in told["errors"].items() if count}
    if faults:
        raise BenchError(f"of {told['requests']} requests failed: {faults}")
    if not told["requests"]:
        raise BenchError("no request was answered")
    rate = told["requests"] / (told["duration_us"] / 1e6)
    return Figures(rate, told["p50_us"] / 1000, told["p99_us"] / 1000), told["requests"]


@contextmanager
def _request_file(address: str, requests: Sequence[Request]) -> Iterator[str]:
    """Each request as it goes over the wire, after a line with its length."""
    with tempfile.NamedTemporaryFile(prefix="bench-requests-") as file:
        for request in requests:
            raw = request.encode(address)
            file.write(b"%d\n%s" % (len(raw), raw))
        file.flush()
        yield file.name


class _ChildClock:
    """How much of one core the processes that ended meanwhile have used."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.monotonic(), self._used()

    def share(self) -> float:
        return (self._used() - self._cpu) / (time.monotonic() - self._wall)

    @staticmethod
    def _used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
