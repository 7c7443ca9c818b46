"""Several processes that repeat one step over the same span of time and put their latencies together.

A member is a module run as `python -m MODULE ARGUMENTS… NUMBER SECONDS`: it makes its steps, one per thread,
and hands them to `serve`. All members wait for each other before the clock starts."""

import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import BenchError
from bench.figures import Figures, figures_of

ROOT = Path(__file__).resolve().parent.parent
GRACE_SECONDS = 60

Step = Callable[[], object]


@dataclass(frozen=True)
class Work:
    latencies: Sequence[float]
    seconds: float

    @property
    def figures(self) -> Figures:
        return figures_of(self.latencies, self.seconds)


def run_crew(
    module: str,
    arguments: Sequence[str],
    *,
    processes: int,
    seconds: float,
    environment: Mapping[str, str] | None = None,
) -> Work:
    members = [
        subprocess.Popen(
            [sys.executable, "-m", module, *arguments, str(number), str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        for number in range(processes)
    ]
    try:
        for member in members:
            _expect_ready(member)
        reports = [_collect(member, seconds) for member in _start(members)]
    finally:
        for member in members:
            member.kill()
            member.wait()
    latencies = [latency for report in reports for latency in report["latencies"]]
    if not latencies:
        raise BenchError(f"{module} did not finish one step in {seconds} s")
    return Work(latencies, max(report["seconds"][0] for report in reports))


def serve(steps: Sequence[Step], seconds: float) -> None:
    """The member's side: waits for the start, repeats each step in a thread, tells the latencies."""
    print("ready", flush=True)
    sys.stdin.readline()
    latencies: list[list[float]] = [[] for _ in steps]
    faults: list[BaseException] = []
    began = time.perf_counter()
    threads = [
        threading.Thread(target=_repeat, args=(step, began + seconds, kept, faults))
        for step, kept in zip(steps, latencies, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    told = {
        "latencies": list(itertools.chain.from_iterable(latencies)),
        "seconds": [time.perf_counter() - began],
    }
    print(json.dumps(told), flush=True)


def _repeat(step: Step, until: float, kept: list[float], faults: list[BaseException]) -> None:
    try:
        before = time.perf_counter()
        while before < until and not faults:
            step()
            now = time.perf_counter()
            kept.append(now - before)
            before = now
    except Exception as fault:  # noqa: BLE001 - a thread cannot raise: the main thread does it for all
        faults.append(fault)


def _expect_ready(member: subprocess.Popen[str]) -> None:
    assert member.stdout is not None
    if member.stdout.readline().strip() != "ready":
        raise BenchError(_complaint(member))


def _start(members: list[subprocess.Popen[str]]) -> list[subprocess.Popen[str]]:
    for member in members:
        assert member.stdin is not None
        member.stdin.write("go\n")
        member.stdin.flush()
    return members


def _collect(member: subprocess.Popen[str], seconds: float) -> dict[str, list[float]]:
    out, complaint = member.communicate(timeout=seconds + GRACE_SECONDS)
    if member.returncode:
        raise BenchError(complaint[-2000:])
    report: dict[str, list[float]] = json.loads(out)
    return report


def _complaint(member: subprocess.Popen[str]) -> str:
    _, complaint = member.communicate(timeout=GRACE_SECONDS)
    return complaint[-2000:]
