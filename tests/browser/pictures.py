"""Takes the README's pictures: `make screenshots`. A Daybook of its own, filled with demo data."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.operations.daybook import ROOT, Daybook

from .chromium import browsing, executable

FOLDER = ROOT / "docs" / "pictures"
# name, address, dark
PICTURES = (
    ("overview", "/admin/", False),
    ("search", "/admin/find/?q=calendar", False),
    ("skills", "/admin/skills/?query=book+a+table+tonight", False),
    ("session", "/admin/sessions_app/session/?errors=yes&open=yes", True),
)
SIZE = {"width": 1280, "height": 800}


def main() -> None:
    if executable() is None:
        raise SystemExit("There is no Chromium on this machine: apt-get install chromium.")
    with tempfile.TemporaryDirectory() as folder:
        daybook = Daybook(Path(folder) / "data").start()
        try:
            take(daybook.ready())
        finally:
            daybook.end()


def take(daybook: Daybook) -> None:
    subprocess.run([sys.executable, "manage.py", "seed_demo"], cwd=ROOT, env=daybook.environment, check=True)
    [password] = re.findall(r"operator, password (\S+)", daybook.output())
    FOLDER.mkdir(exist_ok=True)
    base = f"http://127.0.0.1:{daybook.port}"
    with browsing() as browser:
        for name, address, dark in PICTURES:
            page = browser.new_page(viewport=SIZE, color_scheme="dark" if dark else "light")  # type: ignore[arg-type]
            page.goto(base + "/admin/")
            page.fill("[name=username]", "operator")
            page.fill("[name=password]", password)
            page.press("[name=password]", "Enter")
            page.wait_for_url(base + "/admin/")
            page.goto(base + address)
            if name == "session":
                page.locator("#result_list a").first.click()
                page.wait_for_selector("#db-entries")
                # The chat below its header.
                page.evaluate("document.querySelector('.db-bar[role=search]').scrollIntoView()")
            page.wait_for_timeout(300)
            page.screenshot(path=FOLDER / f"{name}.png")
            page.close()


if __name__ == "__main__":
    main()
