"""`manage.py rebuild_search`: the index for search anew, while the server runs."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from sessions_app.models import Agent
from sessions_app.search import indexing
from sessions_app.search.duty import NotFree, held
from sessions_app.search.rebuilding import rebuild

# Longer than a worker that was killed keeps the duty.
WAIT_SECONDS = 90


class Command(BaseCommand):
    help = "Make the index for search anew from the record. Searches are answered from the old one meanwhile."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--agent", help="only of this agent; else of all")

    def handle(self, *args: Any, **options: Any) -> None:
        agents = Agent.objects.filter(name=options["agent"]) if options["agent"] else Agent.objects.all()
        if not agents:
            raise CommandError(f"There is no agent {options['agent']}.")
        try:
            with held("index", timezone.now, seconds=WAIT_SECONDS) as renew:
                for agent in agents:
                    self._rebuild(agent, renew)
        except NotFree:
            raise CommandError("A worker is feeding the index, or took over. Try again.") from None
        while indexing.step(timezone.now()):
            pass

    def _rebuild(self, agent: Agent, renew: Any) -> None:
        def told(done: int, total: int) -> None:
            renew()
            self.stdout.write(f"{agent.name}: {done} of {total} messages ({100 * done // total} %)")
            self.stdout.flush()

        count = rebuild(agent, timezone.now, told)
        self.stdout.write(f"{agent.name}: {count} messages, done")
