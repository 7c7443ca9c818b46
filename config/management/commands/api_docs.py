from typing import Any

from django.core.management.base import BaseCommand

from config import api_page


class Command(BaseCommand):
    help = "Writes docs/api.md from the assembled API."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        api_page.PAGE.write_text(api_page.page())
        self.stdout.write(f"{api_page.PAGE} written")
