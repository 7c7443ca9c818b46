"""The documents say what is so: every setting, command, target, end point and link."""

import ast
import re
from pathlib import Path

import pytest
from django.core.management import get_commands

from config import api_page
from tests.operations.daybook import ROOT

README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OUR_APPS = {"config", "gateway_app", "sessions_app", "skills_app"}
READERS = {"text", "boolean", "integer", "choice", "names", "folder", "redis_url", "database"}

# Defaults that are worked out, by how the settings do it: whoever changes one looks at the README again.
WORKED_OUT = {
    "DAYBOOK_DATA_DIR": ("BASE_DIR / 'data'", "`data` in the project"),
    "DAYBOOK_SECRET_KEY": ("''", "made once in the data directory"),
    "DAYBOOK_ALLOWED_HOSTS": ("() if PRODUCTION else ('*',)", "`*`; none in production"),
    "DATABASE_URL": (
        "env.DatabaseAddress('sqlite', str(DATA_DIR / 'daybook.sqlite3'))",
        "`daybook.sqlite3` in the data directory",
    ),
    "REDIS_URL": ("f'unix://{quote(str(EMBEDDED_BROKER_SOCKET))}'", "an embedded Valkey"),
    "DAYBOOK_WEB_WORKERS": ("min(os.cpu_count() or 1, 4)", "number of cores, at most 4"),
    "DAYBOOK_EVENT_STREAMS": (
        "max(0, min(32, WEB_THREADS - THREADS_KEPT_FREE))",
        "`WEB_THREADS` − 8, at most 32",  # noqa: RUF001 (a minus, as it is printed)
    ),
    "DAYBOOK_LOG_FORMAT": ("logs.JSON if PRODUCTION else logs.CONSOLE", "`console`; `json` in production"),
}


def settings_read() -> dict[str, ast.expr]:
    """Each variable that the settings read, with the expression of its default."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(ast.parse((ROOT / "config" / "settings.py").read_text())):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name("env"), attr=reader),
                args=[ast.Constant(str(name)), *rest],
            ) if reader in READERS:
                # A bare look at whether a variable is set says nothing of its default.
                if rest or name not in found:
                    found[name] = rest[0] if rest else ast.Constant("")
    return found


def default_shown(name: str, default: ast.expr) -> str:
    if name in WORKED_OUT:
        expression, shown = WORKED_OUT[name]
        assert ast.unparse(default) == expression, f"{name} has another default now: look at the README"
        return shown
    value = ast.literal_eval(default)
    if value in ("", ()):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def table_rows(heading: str) -> list[list[str]]:
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+) \|$", section, re.MULTILINE)
    return [re.split(r" (?<!\\)\| ", row) for row in rows]


def test_the_table_of_settings_has_every_variable_with_its_default() -> None:
    shown = {row[0].strip("`"): row[1] for row in table_rows("Settings") if row[0].startswith("`")}
    assert shown == {name: default_shown(name, default) for name, default in settings_read().items()}


def test_only_the_settings_read_variables_of_ours() -> None:
    """Else the table could be complete and a variable still be missing."""
    sources = [path for app in OUR_APPS for path in (ROOT / app).rglob("*.py")]
    readers = [
        path.relative_to(ROOT).as_posix()
        for path in sources
        if re.search(
            r"os\.environ(?:\.get|\[\"[A-Z_]+\"\](?! =))|getenv|\benv\.(?:text|boolean|integer|choice)",
            path.read_text(),
        )
    ]
    assert sorted(readers) == ["config/env.py", "config/settings.py"]


def test_every_variable_that_a_document_names_exists() -> None:
    for page in PAGES:
        named = set(re.findall(r"\bDAYBOOK_[A-Z_]+[A-Z]\b", page.read_text())) - {"DAYBOOK_PUBLISH"}
        assert named <= settings_read().keys(), page.name


def test_the_readme_has_every_command_of_ours() -> None:
    ours = {name for name, app in get_commands().items() if app in OUR_APPS}
    table = README.split("| command | |\n")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)", table, re.MULTILINE)) == ours


def test_the_readme_has_every_target_of_make() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    table = README.split("| `make …` | |\n")[1].split("\n\n")[0]
    shown = {name for row in table.splitlines() for name in re.findall(r"`([a-z-]+)`", row.split(" | ")[0])}
    assert shown == targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_house_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_the_page_of_the_api_is_as_the_api_is() -> None:
    assert api_page.PAGE.read_text() == api_page.page(), "docs/api.md is old: `make docs` renews it"
