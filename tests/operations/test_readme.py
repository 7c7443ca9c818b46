"""The README's first five minutes, as somebody types them, against a Daybook that has just started."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .conftest import MakeDaybook
from .daybook import ROOT, Daybook

KEY = re.compile(r"^API key +(\S+)", re.MULTILINE)
END = "--- end of block ---"


def blocks() -> list[str]:
    section = (ROOT / "README.md").read_text().split("\n## The first five minutes\n")[1].split("\n## ")[0]
    return re.findall(r"^```bash\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def script(daybook: Daybook, scratch: Path) -> str:
    [key] = KEY.findall(daybook.output())
    text = "".join(f"{block}echo '{END}'\n" for block in blocks())
    for written, real in (("dbk_…", key), (":8000/", f":{daybook.port}/"), ("/tmp/", f"{scratch}/")):  # noqa: S108
        assert written in text, f"the README has no {written} any more"
        text = text.replace(written, real)
    return text


def curl_that_tells(folder: Path) -> Path:
    """A curl that adds the status of each answer to a file, whatever the caller does with its output."""
    folder.mkdir()
    real = shutil.which("curl")
    told = folder / "statuses"
    fake = folder / "curl"
    fake.write_text(f'#!/bin/sh\nexec {real} --write-out "%{{stderr}}%{{http_code}}\\n" "$@" 2>>"{told}"\n')
    fake.chmod(0o755)
    return told


def objects(output: str) -> list[Any]:
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


@pytest.mark.skipif(not shutil.which("curl") or not shutil.which("bash"), reason="needs bash and curl")
def test_the_first_five_minutes_work_as_written(make_daybook: MakeDaybook, tmp_path: Path) -> None:
    daybook = make_daybook().start().ready()
    told = curl_that_tells(tmp_path / "bin")

    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script(daybook, tmp_path)],
        env={**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stdout + done.stderr + told.read_text()
    statuses = re.findall(r"^\d{3}$", told.read_text(), re.MULTILINE)
    sessions = ["201"] * 5 + ["200"] * 3 + ["201"] * 2 + ["200"] * 4 + ["201"] + ["200"] * 5 + ["201"]
    assert statuses == [*sessions, "201", *["200"] * 3]
    said = done.stdout.split(END + "\n")
    assert len(said) == len(blocks()) + 1
    opened, appended, recorded, windows, summary, retried, found, live, back, condensed, reflected, skills = (
        said[1:-1]
    )
    assert objects(opened)[0]["created"] is True
    assert [item["seq"] for answer in objects(appended + recorded) for item in answer["items"]] == [
        *range(1, 7)
    ]
    openai, anthropic = objects(windows)
    assert [message["role"] for message in openai["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert [message["role"] for message in anthropic["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert [objects(summary)[0][name] for name in ("messages", "errors", "decisions")] == [4, 1, 1]
    assert "idempotent-replayed: true" in retried.lower()
    assert [answer["items"][0]["seq"] for answer in objects(retried)] == [7, 7]
    assert re.findall(r"^id: (\d+)$", live, re.MULTILINE) == ["6", "7"]
    fork, rewound, window, record = objects(back)
    assert (fork["key"], fork["counts"]["entries"]) == ("telegram:42:what-if", 6)
    assert rewound["counts"]["entries"] == 7
    assert (window["from_seq"], window["to_seq"]) == (1, 4)
    assert [message["hidden"] for message in record["items"]] == [False] * 4 + [True]
    by_word, by_part = objects(found)
    assert [hit["seq"] for hit in by_word["items"]] == [2, 1]
    assert [hit["seq"] for hit in by_part["items"]] == [4, 3]
    assert "Found 1 result(s) for 'timeout':" in found
    done, listed = objects(condensed)
    # One turn is left, which is the newest.
    assert (done["state"], listed["items"]) == ("nothing", [])
    assert objects(reflected)[0]["markdown"].startswith("## Self-Reflection Report")
    _, ended, recommended, metrics = objects(skills)
    assert ended["state"] == "completed"
    assert [item["skill_name"] for item in recommended["items"]] == ["weather"]
    assert metrics["items"][0]["completion_rate"] == 100.0
