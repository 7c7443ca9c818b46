"""Keeps a handful of processes running: restarts those that die, stops all of them in order.

Nothing here sleeps, forks or asks for the time by itself: processes, clock and pause are handed in.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

FIRST_DELAY = 1.0
LONGEST_DELAY = 30.0
# A process that lived this long was well: its next failure is a new one.
WELL_AFTER = 60.0
# How often a stopping process is looked at when no signal tells of its end.
LOOK_AGAIN = 0.1


@dataclass(frozen=True)
class Service:
    name: str
    command: tuple[str, ...]
    stop_seconds: float


class Process(Protocol):
    @property
    def pid(self) -> int: ...

    def exit_code(self) -> int | None: ...

    def ask_to_stop(self) -> None: ...

    def kill(self) -> None:
        """Ends the process and all that it started."""


class Backoff:
    def __init__(self) -> None:
        self._next = FIRST_DELAY

    def delay_after(self, lived: float) -> float:
        delay = FIRST_DELAY if lived >= WELL_AFTER else self._next
        self._next = min(delay * 2, LONGEST_DELAY)
        return delay


@dataclass
class _Child:
    service: Service
    process: Process | None = None
    started_at: float = 0.0
    restart_at: float = 0.0
    backoff: Backoff = field(default_factory=Backoff)


class Supervisor:
    def __init__(
        self,
        *,
        spawn: Callable[[Service], Process],
        clock: Callable[[], float],
        report: Callable[[str], None],
    ) -> None:
        self._spawn = spawn
        self._clock = clock
        self._report = report
        self._children: list[_Child] = []
        self._hurried = False

    def start(self, service: Service) -> None:
        child = _Child(service)
        self._children.append(child)
        self._run(child)

    def step(self) -> float | None:
        """Notices the dead and starts what is due; answers in how many seconds the next start is due."""
        for child in self._children:
            if child.process is not None and child.process.exit_code() is not None:
                self._bury(child, child.process)
            if child.process is None and child.restart_at <= self._clock():
                self._run(child)
                self._report(f"{child.service.name} runs again")
        waits = [child.restart_at - self._clock() for child in self._children if child.process is None]
        return max(0.0, min(waits)) if waits else None

    def stop(self, pause: Callable[[float], None]) -> None:
        """Last started, first stopped: nobody loses a server that it still talks to."""
        while self._children:
            child = self._children.pop()
            if child.process is not None:
                self._end(child.service, child.process, pause)

    def hurry(self) -> None:
        """Whoever has not stopped yet is killed."""
        self._hurried = True

    def _run(self, child: _Child) -> None:
        child.process = self._spawn(child.service)
        child.started_at = self._clock()

    def _bury(self, child: _Child, process: Process) -> None:
        # What it started itself may have outlived it, and would hold its port.
        process.kill()
        now = self._clock()
        delay = child.backoff.delay_after(now - child.started_at)
        child.process, child.restart_at = None, now + delay
        how = describe_exit(process.exit_code() or 0)
        self._report(f"{child.service.name} (process {process.pid}) {how}; it starts again in {delay:g} s")

    def _end(self, service: Service, process: Process, pause: Callable[[float], None]) -> None:
        process.ask_to_stop()
        deadline = self._clock() + service.stop_seconds
        while process.exit_code() is None and self._clock() < deadline and not self._hurried:
            pause(LOOK_AGAIN)
        if process.exit_code() is None:
            self._report(f"{service.name} did not stop and is killed")
        process.kill()


def describe_exit(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
