"""Who stands beside search, each in files and processes of its own: hermes in an environment that is made
for it and thrown away, or its design once more where that cannot be had; and a scan of all messages."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from functools import cache
from pathlib import Path
from typing import Any

from bench import BenchError
from bench.crew import ROOT

WORK = ROOT / "bench" / "work"
PACKAGE, MODULE = "hermes-agent", "hermes_state"
INSTALL_SECONDS = 300


class Peer:
    """Filled once and asked as often as is wanted, also for the second database."""

    def __init__(self, kind: str, title: str, python: Path, folder: Path) -> None:
        self.title = title
        self._kind = kind
        self._python = python
        self._folder = folder
        self._filled = 0

    def fill(self, messages: int) -> float | None:
        """The seconds it took; None where it has them already."""
        if self._filled == messages:
            return None
        (self._folder / "filled").mkdir()
        self._filled = messages
        seconds: float = self._told("fill", "filled", messages)["seconds"]
        return seconds

    def run(self, seconds: int) -> dict[str, list[float]]:
        taken: dict[str, list[float]] = self._told("run", "filled", seconds)
        return taken

    def append(self, seconds: int) -> list[float]:
        taken: list[float] = self._told("append", "filled", seconds)
        return taken

    def append_to_empty(self, seconds: int) -> list[float]:
        shutil.rmtree(self._folder / "empty", ignore_errors=True)
        (self._folder / "empty").mkdir()
        self._told("fill", "empty", 0)
        taken: list[float] = self._told("append", "empty", seconds)
        return taken

    def _told(self, step: str, folder: str, amount: int) -> Any:
        done = subprocess.run(
            [self._python, "-m", "bench.peer", self._kind, step, str(self._folder / folder), str(amount)],
            cwd=ROOT,
            # It looks for its own settings in a folder of its own.
            env={**os.environ, "HERMES_HOME": str(self._folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise BenchError(f"{self.title} ended with {done.returncode}: {done.stderr[-2000:]}")
        return json.loads(done.stdout)


@cache
def hermes() -> Peer:
    folder = _folder()
    python = folder / "environment" / "bin" / "python"
    venv.create(python.parent.parent, with_pip=True)
    # Its store needs nothing but Python's own library.
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        PACKAGE,
    ]
    tell = f"from importlib.metadata import version; import {MODULE}; print(version('{PACKAGE}'))"
    try:
        subprocess.run(install, check=True, capture_output=True, timeout=INSTALL_SECONDS)
        found = subprocess.run(
            [str(python), "-c", tell], check=True, capture_output=True, text=True, cwd=folder
        )
    except (subprocess.SubprocessError, OSError):
        title = "hermes' design, rebuilt, as the package cannot be had"
        return Peer("recreated", title, Path(sys.executable), folder)
    return Peer("hermes", f"hermes {found.stdout.strip()}", python, folder)


@cache
def scan() -> Peer:
    return Peer("scan", "a scan of JSON lines", Path(sys.executable), _folder())


def _folder() -> Path:
    WORK.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=WORK))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
