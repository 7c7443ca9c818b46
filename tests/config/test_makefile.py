"""The Makefile, by what it says it would do."""

import os
import re
import subprocess

from tests.operations.daybook import ROOT


def make(*arguments: str) -> str:
    # The tests may have been started by make itself, which would speak differently then.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", *arguments], cwd=ROOT, env=outside, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_help_tells_of_every_target() -> None:
    phony = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    assert sorted(line.split()[0] for line in make("help").splitlines()) == sorted(phony[1].split())


def test_everything_is_linted_before_a_test_runs_and_both_databases_are_tested() -> None:
    planned = make("--dry-run", "--always-make", "test")
    steps = ["ruff check", "ruff format --check", "lint-imports", "mypy", "makemigrations --check", "pytest"]
    places = [planned.index(step) for step in steps]
    assert places == sorted(places)
    tests = [line for line in planned.splitlines() if "-m pytest" in line]
    assert ["--database=postgres" in line for line in tests] == [False, True]


def test_continuous_integration_runs_what_everybody_runs() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert script.read_text().splitlines()[-1] == "make test"
