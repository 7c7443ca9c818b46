from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sessions_app.commits import commit
from sessions_app.models import Agent
from skills_app import recounting

MOST_SHOWN = 50


class Command(BaseCommand):
    help = "Count all skill invocations anew and tell where the stored counts differ."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--agent", help="One agent's alone.")
        parser.add_argument("--repair", action="store_true", help="Put the right counts in their place.")

    def handle(self, *args: Any, **options: Any) -> None:
        agents = Agent.objects.filter(name=options["agent"]) if options["agent"] else Agent.objects.all()
        if options["agent"] and not agents:
            raise CommandError(f"There is no agent {options['agent']}.")
        found = 0
        for agent in agents:
            found += self._agent(agent, repair=options["repair"])
        if found and not options["repair"]:
            raise CommandError(f"{found} differences; --repair puts the right counts in their place.")
        self.stdout.write(f"{found} differences{', repaired' if found else ''}.")

    def _agent(self, agent: Agent, *, repair: bool) -> int:
        differences = recounting.recount(agent.pk)
        for line in differences[:MOST_SHOWN]:
            self.stdout.write(f"{agent.name}: {line}")
        if differences and repair:
            commit(lambda: recounting.rebuild(agent.pk))
        return len(differences)
