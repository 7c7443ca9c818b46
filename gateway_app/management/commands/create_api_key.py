from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gateway_app.keys import BadKeyRequest, create_key
from sessions_app.access import SCOPES


class Command(BaseCommand):
    help = "Make an API key. Its secret is printed once, alone, on standard output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="What the key is for, as operators will see it.")
        owner = parser.add_mutually_exclusive_group()
        owner.add_argument("--agent", default="main", help="The agent it belongs to; made if there is none.")
        owner.add_argument(
            "--operator", action="store_true", help="A key for all agents (sent with X-Daybook-Agent)."
        )
        parser.add_argument(
            "--scope", action="append", choices=SCOPES, help="May be given several times; write if it is not."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        agent = None if options["operator"] else options["agent"]
        try:
            _, secret = create_key(options["name"], agent, options["scope"] or ["write"])
        except BadKeyRequest as error:
            raise CommandError(str(error)) from None
        self.stdout.write(secret)
