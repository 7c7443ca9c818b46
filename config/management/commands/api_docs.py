from typing import Any

from django.core.management.base import BaseCommand

from config import api_page


class Command(BaseCommand):
    help = "Writes docs/api.md and docs/openapi.json from the assembled API."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        api_page.PAGE.write_text(api_page.page())
        api_page.DOCUMENT.write_text(api_page.document())
        self.stdout.write(f"{api_page.PAGE} and {api_page.DOCUMENT} written")
