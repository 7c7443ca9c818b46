from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from sessions_app import runs
from sessions_app.models import Agent, Run

WIDTH = 30
TENTHS = 10


class Command(BaseCommand):
    help = "Condense every session that has something left, now. The API and the admin show how far it is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--all", action="store_true", help="The sessions of all agents.")
        which.add_argument("--agent", help="The sessions of this one.")

    def handle(self, *args: Any, **options: Any) -> None:
        agents = Agent.objects.order_by("pk")
        if options["agent"] is not None:
            agents = agents.filter(name=options["agent"])
            if not agents:
                raise CommandError(f"There is no agent {options['agent']}.")
        for agent in agents:
            run = runs.consolidate_all(agent, timezone.now, partial(self._show, agent.name))
            self._end(agent.name, run)

    def _show(self, name: str, run: Run) -> None:
        """A bar where somebody looks on, a line for each tenth where it goes to a file."""
        if self.stderr.isatty():
            filled = WIDTH * run.done // max(run.total, 1)
            bar = "#" * filled + "." * (WIDTH - filled)
            self.stderr.write(f"\r{name} [{bar}] {run.done}/{run.total}", ending="")
        elif run.done * TENTHS // run.total > (run.done - 1) * TENTHS // run.total:
            self.stderr.write(f"{name}: {run.done} of {run.total}")

    def _end(self, name: str, run: Run) -> None:
        if self.stderr.isatty() and run.total:
            self.stderr.write("")
        failed = f", {run.failed} failed: {run.last_error}" if run.failed else ""
        self.stdout.write(f"{name}: {run.done} sessions looked at{failed}")
