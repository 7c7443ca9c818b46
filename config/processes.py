"""The operating system's side of the supervisor: real processes, signals, locks and ports."""

import contextlib
import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType

from config.supervisor import Service

LAUNCHER = Path(__file__).with_name("launch.py")


class OwnedProcess:
    """A process in a group of its own, so that the terminal's Ctrl-C reaches only us and we end it whole."""

    def __init__(self, service: Service, *, folder: Path, environment: Mapping[str, str]) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *service.command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._popen.pid

    def exit_code(self) -> int | None:
        return self._popen.poll()

    def ask_to_stop(self) -> None:
        self._popen.terminate()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()


class Signals:
    """Turns SIGINT and SIGTERM into a number that is looked at, and wakes pauses when a child ends."""

    def __init__(self) -> None:
        self.stops = 0
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self._write_end, False)
        signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def pause(self, seconds: float | None) -> None:
        readable, _, _ = select.select([self._read_end], [], [], seconds)
        if readable:
            os.read(self._read_end, 4096)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stops += 1


class AlreadyRunning(Exception):
    def __init__(self, pid: str) -> None:
        super().__init__(f"process {pid}")


@contextlib.contextmanager
def only_one(lock_file: Path) -> Iterator[None]:
    with lock_file.open("a+") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.seek(0)
            raise AlreadyRunning(stream.read().strip()) from None
        stream.truncate(0)
        stream.write(str(os.getpid()))
        stream.flush()
        yield


def port_is_free(host: str, port: int, *, patience: float) -> bool:
    """Servers share a port silently when all of them allow it, so this has to be asked before one starts.

    A run that was killed may need a moment to let go of it.
    """
    deadline = time.monotonic() + patience
    while not _can_bind(host, port):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.1)
    return True


def _can_bind(host: str, port: int) -> bool:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(address)
        except OSError:
            return False
    return True
