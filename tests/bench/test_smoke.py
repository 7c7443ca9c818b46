"""One short run of what needs no big tables, with our own load. No number is judged: machines differ."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SHORT = "append,stored,sweep,pages"
ROOT = Path(__file__).resolve().parents[2]


def run_bench(*arguments: str, data_dir: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "bench", *arguments],
        cwd=ROOT,
        env={**os.environ, "DAYBOOK_DATA_DIR": str(data_dir)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_a_short_run_measures_every_row(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    database = pytestconfig.getoption("database")
    tiny = ("--database", database, "--seconds", "0.2", "--rounds", "1", "--stored", "2000")
    done = run_bench(*tiny, "--only", SHORT, "--generator", "python", data_dir=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for title in (
        "empty end point, beside append",
        "append 1 message, 16 sessions",
        "append 100 messages, all to one session",
        "append 1, bare driver",
        "append 1 message with 2 000 stored",
        "sweep: 20 due of 2 000 open sessions",
        "page: a session, in its middle",
    ):
        assert title in done.stdout
    assert "possibly the bottleneck" in done.stdout
    assert "targets met" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("--only", "append,nonsense"),
            "'nonsense' is none of append, stored, window, sweep, skills, memory, search, pages, import",
        ),
        (("--seconds", "0"), "it must be more than 0"),
        (("--rounds", "x"), "invalid number value: 'x'"),
    ],
)
def test_a_wrong_option_is_named(arguments: tuple[str, ...], complaint: str, tmp_path: Path) -> None:
    done = run_bench(*arguments, data_dir=tmp_path)
    assert done.returncode != 0
    assert complaint in done.stderr


def test_kept_results_are_readable() -> None:
    results = ROOT / "bench" / "results.json"
    if results.exists():
        assert set(json.loads(results.read_text())) == {"conditions", "databases"}
