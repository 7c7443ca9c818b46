from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config import preparation


class Command(BaseCommand):
    help = "Migrates the database and makes the first operator and API key if there are none (printed once)."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.stdout.write(f"database    {preparation.migrate()} migrations applied")
        except preparation.NoDatabase as error:
            raise CommandError(str(error)) from None
        for line in preparation.lines_about(preparation.make_first_secrets()):
            self.stdout.write(line)
