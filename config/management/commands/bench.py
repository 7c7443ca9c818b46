"""`manage.py bench`: measures the server on SQLite and on PostgreSQL; docs/benchmark.md tells how."""

import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from typing import Any, TypeVar

from django.core.management.base import BaseCommand, CommandError

from bench import BenchError, report
from bench.databases import KINDS
from bench.measures import MEASURES
from bench.measuring import Options
from bench.run import run

BOTH = "both"
Number = TypeVar("Number", int, float)


class Command(BaseCommand):
    help = "Measure appends and windows over HTTP, beside the empty end point and the bare database."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--database", choices=(*KINDS, BOTH), default=BOTH)
        parser.add_argument(
            "--seconds", type=_positive(float), default=3.0, help="length of each measurement"
        )
        parser.add_argument("--rounds", type=_positive(int), default=3, help="the median of them is reported")
        parser.add_argument(
            "--stored",
            type=_positive(int),
            default=1_000_000,
            help="messages, and open sessions, of the big tables",
        )
        parser.add_argument("--only", type=_measures, default=list(MEASURES), help=", ".join(MEASURES))
        parser.add_argument("--generator", choices=("auto", "wrk", "python"), default="auto")
        parser.add_argument("--output", action="store_true", help="renew bench/results.json and the page")

    def handle(self, *args: Any, **options: Any) -> None:
        # Ended from outside, it still stops the servers it has started.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        kinds = KINDS if options["database"] == BOTH else (options["database"],)
        chosen = Options(options["seconds"], options["rounds"], options["stored"])
        try:
            made = run(kinds, options["only"], chosen, options["generator"], self._say)
        except BenchError as failed:
            raise CommandError(str(failed)) from failed
        self._show(made)
        if options["output"]:
            report.write(made)

    def _show(self, made: report.Report) -> None:
        for name, value in made.conditions.items():
            self._say(f"{name}: {value}")
        for kind, rows in made.rows.items():
            self._say(f"\n{kind}\n{report.aligned(rows)}")
        self._say(f"\n{report.summary(made)}")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _positive(kind: Callable[[str], Number]) -> Callable[[str], Number]:
    def parse(text: str) -> Number:
        value = kind(text)
        if value <= 0:
            raise ArgumentTypeError(f"it must be more than 0, not {text}")
        return value

    parse.__name__ = "number"
    return parse


def _measures(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        raise ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(MEASURES)}")
    return names
