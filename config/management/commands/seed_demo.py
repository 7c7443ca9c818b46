from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from config.demo import filling


class Command(BaseCommand):
    help = "Fills Daybook with demo data: three agents, their sessions, deliveries and people."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sessions", type=int, default=160, help="how many sessions (160)")
        parser.add_argument(
            "--messages", type=int, default=4000, help="how many entries in all of them (4000)"
        )
        parser.add_argument("--invocations", type=int, default=400, help="how many uses of skills (400)")
        parser.add_argument("--seed", type=int, default=7, help="the same seed tells the same stories (7)")

    def handle(
        self, *args: Any, sessions: int, messages: int, invocations: int, seed: int, **options: Any
    ) -> None:
        if sessions < 1 or messages < sessions or invocations < 0:
            raise CommandError("There is at least one session, with at least one entry in each.")
        now = timezone.now()
        try:
            stored = filling.fill(sessions, messages, seed, now)
        except filling.AlreadyThere:
            self.stdout.write(f"The demo of seed {seed} is there already.")
            return
        self.stdout.write(f"{stored.sessions} sessions, {stored.messages} entries.")
        if invocations and (store := filling.FURTHER.get("invocations")):
            self.stdout.write(f"{store(invocations, seed, now)} uses of skills.")
