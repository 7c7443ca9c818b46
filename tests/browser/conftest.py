"""One Daybook with demo data and one browser for all of these tests.

They are in one module: while Playwright runs, Django takes its thread for an asynchronous one."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.operations.conftest import servers  # noqa: F401 - a fixture
from tests.operations.daybook import ROOT, Daybook

from .chromium import Watch, browsing, why_not

PASSWORD = "a-long-demo-password"
# In one process: each start of Django takes seconds.
FILLED = f"""
from django.contrib.auth.models import Group, User
from django.core.management import call_command
call_command("seed_demo", sessions=60, messages=1500, seed=7)
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.test import Client
password = make_password("{PASSWORD}")
User.objects.create(username="root", password=password, is_staff=True, is_superuser=True)
for name in ("viewer", "operator", "admin"):
    user = User.objects.create(username=name + "-1", password=password, is_staff=True)
    user.groups.add(Group.objects.get(name=name))
for user in User.objects.filter(password=password):
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    print("cookie", user.username, name, client.cookies[name].value)
"""
LogIn = Callable[..., Page]


@pytest.fixture(scope="module")
def daybook(
    tmp_path_factory: pytest.TempPathFactory,
    servers: Callable[[], dict[str, str]],  # noqa: F811
) -> Iterator[Daybook]:
    if reason := why_not():
        pytest.skip(reason)
    made = Daybook(tmp_path_factory.mktemp("browser") / "data", **servers()).start()
    try:
        yield made.ready()
    finally:
        made.end()


@pytest.fixture(scope="module")
def filled(daybook: Daybook) -> str:
    return run(daybook, "shell", "-c", FILLED)


def run(daybook: Daybook, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT, env=daybook.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def browser(daybook: Daybook) -> Iterator[Browser]:
    with browsing() as opened:
        yield opened


@pytest.fixture(scope="module")
def base(daybook: Daybook) -> str:
    return f"http://127.0.0.1:{daybook.port}"


@pytest.fixture(scope="module")
def cookies(filled: str, base: str) -> dict[str, list[object]]:
    """Everybody is logged in already; one test shows how that is done."""
    found = re.findall(r"^cookie (\S+) (\S+) (\S+)$", filled, re.MULTILINE)
    return {user: [{"name": name, "value": value, "url": base}] for user, name, value in found}


@pytest.fixture
def log_in(browser: Browser, base: str, cookies: dict[str, list[object]]) -> Iterator[LogIn]:
    """A page as somebody sees it; at the end of the test none of them may have complained."""
    made = []

    def open_page(user: str | None = "operator-1", *, width: int = 1280, dark: bool = False) -> Page:
        context = browser.new_context(
            base_url=base, viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        watch = Watch(context, base)
        if user is not None:
            context.add_cookies(cookies[user])  # type: ignore[arg-type]
        page = context.new_page()
        made.append((context, watch))
        return page

    yield open_page
    faults = [fault for _, watch in made for fault in watch.faults]
    for context, _ in made:
        context.close()
    assert faults == []
