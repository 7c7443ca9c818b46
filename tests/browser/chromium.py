"""The browser of the machine: Debian's Chromium, or whichever is on the path."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, sync_playwright

FLAGS = [
    "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
]  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Nothing on these pages takes longer, however busy the machine is.
PATIENCE_MS = 20_000


def executable() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def why_not() -> str | None:
    """Why there is no browser; None where there is one. Where everything must be tested that is a failure."""
    if executable() is not None:
        return None
    reason = "No Chromium on this machine (apt-get install chromium): the browser tests are skipped."
    if os.environ.get("CI") == "true":
        raise RuntimeError(reason)
    return reason


@contextmanager
def browsing() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Watch:
    """What no page may do: complain, fail, or ask another server."""

    def __init__(self, context: BrowserContext, base: str) -> None:
        self.faults: list[str] = []
        self._base = base
        context.set_default_timeout(PATIENCE_MS)
        context.on("page", self._attend)

    def _attend(self, page: Page) -> None:
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._note(f"script: {error}"))
        page.on("dialog", self._dismiss)
        page.on("request", lambda asked: self._look(asked.url))

    def _hear(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self._note(f"console: {said.text}")

    def _dismiss(self, dialog: Dialog) -> None:
        self._note(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _look(self, url: str) -> None:
        if not url.startswith((self._base, "data:", "blob:")):
            self._note(f"outside: {url}")

    def _note(self, fault: str) -> None:
        self.faults.append(fault)
