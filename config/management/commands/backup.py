from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config import backups


class Command(BaseCommand):
    help = "Copy an embedded Daybook's database, whole and consistent, while it runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "path", type=Path, help="The file to make; a folder gets one named after the time."
        )
        parser.add_argument("--force", action="store_true", help="Replace a file that is there.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = backups.make(options["path"], force=options["force"])
        except backups.NoBackup as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{made.path} ({made.pages} pages, checked)")
