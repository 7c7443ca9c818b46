"""The whole run: for each database the servers, then each measure, then the report."""

import os
import platform
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.crew import ROOT
from bench.databases import broker, databases
from bench.load import CONNECTIONS, Generator, choose_generator
from bench.measures import MEASURES
from bench.measuring import Bench, Options, Progress
from bench.report import Report
from bench.rows import Row
from bench.servers import WORKERS, Installation

# On the disk that holds the project, not in a temporary folder that may be memory and make fsync free.
WORK = ROOT / "bench" / "work"


def run(
    kinds: Sequence[str],
    only: Sequence[str],
    options: Options,
    generator: str,
    write: Callable[[str], object],
) -> Report:
    progress = Progress(write)
    chosen = choose_generator(generator, progress.say)
    rows: dict[str, Sequence[Row]] = {}
    busiest = 0.0
    for kind in kinds:
        with _bench(kind, options, chosen, progress) as bench:
            rows[kind] = [row for name in only for row in MEASURES[name](bench)]
            busiest = max(busiest, bench.generator_cpu)
    progress.say("done")
    return Report(_conditions(options, chosen, busiest), rows)


@contextmanager
def _bench(kind: str, options: Options, generator: Generator, progress: Progress) -> Iterator[Bench]:
    progress.say(f"{kind}: starting the database and the broker")
    with _folder() as folder, databases(kind, folder) as made, broker(folder) as broker_url:
        progress.say(f"{kind}: setting up the product")
        yield Bench(kind, options, generator, Installation(made, broker_url, folder), progress)


@contextmanager
def _folder() -> Iterator[Path]:
    WORK.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=WORK))
    # Some database servers run as a user of their own and have to get through.
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _conditions(options: Options, generator: Generator, busiest: float) -> dict[str, str]:
    return {
        "load": f"{generator.note}, {CONNECTIONS} connections, at most {busiest:.0%} of one core",
        "each figure": f"the median of {options.rounds} rounds of {options.seconds:g} s, taken in turns",
        "server": f"granian, {WORKERS} processes, production settings, fsync before each answer",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}",
    }
