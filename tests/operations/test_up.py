import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from config.management.commands import up

from .conftest import MakeDaybook
from .daybook import ROOT, Daybook, alive, descendants, free_port, until

KEY = re.compile(r"^API key +(\S+)", re.MULTILINE)
BURIED = r"{name} \(process (\d+)\) was ended by signal 9; it starts again in 1 s"
MARKERS = {
    "broker": "valkey-server",
    "worker": "config worker",
    "beat": "config beat",
    "web": "config.web",
}
# One process of pytest for all of them: they share the Daybook that runs.
shares_a_daybook = pytest.mark.xdist_group("running")


def child_pid(daybook: Daybook, marker: str) -> int:
    """The direct child whose command line has the marker."""
    children = psutil.Process(daybook.pid).children()
    [pid] = [child.pid for child in children if marker in " ".join(child.cmdline())]
    return int(pid)


def services(daybook: Daybook) -> dict[str, str]:
    """What it runs: a broker only where none is named."""
    return {
        name: marker
        for name, marker in MARKERS.items()
        if name != "broker" or "REDIS_URL" not in daybook.environment
    }


def assert_stops_at(daybook: Daybook, number: signal.Signals) -> None:
    assert len(daybook.remember_family()) >= 2 + len(services(daybook))
    assert daybook.send(number) == 0
    assert daybook.output().endswith("Stopped.\n")
    assert alive(daybook.family) == set()
    assert "is killed" not in daybook.output()


def test_what_was_stored_outlives_a_stop_a_kill_and_two_starts(make_daybook: MakeDaybook) -> None:
    daybook = make_daybook().start().ready()
    [key] = KEY.findall(daybook.output())
    assert "operator, password " in daybook.output()
    session = daybook.post("/api/v1/sessions", key, {"key": "telegram:1"}).json()["id"]
    message = {"kind": "message", "role": "user", "content": "Keep this."}
    stored = daybook.post(f"/api/v1/sessions/{session}/messages", key, message)
    assert stored.status_code == 201, stored.text
    assert_stops_at(daybook, signal.SIGTERM)

    daybook.start().ready()
    assert not KEY.findall(daybook.output())
    assert "password" not in daybook.output()
    history = f"/api/v1/sessions/{session}/history"
    assert "Keep this." in daybook.get(history, Authorization=f"Bearer {key}").text
    until(lambda: daybook.get("/readyz").json()["last_beat_age_seconds"] is not None, "a beat to be heard")
    assert "daybook_last_beat_age_seconds " in daybook.get("/metrics").text

    daybook.send(signal.SIGKILL)
    if sys.platform != "linux":  # pragma: no cover - only Linux ends children with their parent
        return
    until(lambda: not alive(daybook.family), "the children to end")

    daybook.start().ready()
    assert "Keep this." in daybook.get(history, Authorization=f"Bearer {key}").text
    assert_stops_at(daybook, signal.SIGINT)


def test_a_signal_during_the_start_stops_it(make_daybook: MakeDaybook) -> None:
    daybook = make_daybook().start()
    until(lambda: daybook.says("data  "), "the first line")
    assert daybook.send(signal.SIGTERM) == 0
    until(lambda: not alive(daybook.family), "everything to be gone")


@shares_a_daybook
def test_children_that_are_killed_run_again(running: Daybook) -> None:
    before = {name: child_pid(running, marker) for name, marker in services(running).items()}

    for pid in before.values():
        os.kill(pid, signal.SIGKILL)

    for name, pid in before.items():
        told = until(lambda: re.search(BURIED.format(name=name), running.output()), f"word of {name}")  # noqa: B023
        assert int(told[1]) == pid
        until(lambda: running.says(f"{name} runs again"), f"{name} to run again")  # noqa: B023
        assert child_pid(running, MARKERS[name]) != pid
    until(lambda: running.status("/readyz") == 200, "Daybook to be ready again")


@shares_a_daybook
def test_a_web_process_that_is_killed_is_replaced(running: Daybook) -> None:
    [serving] = descendants(child_pid(running, "config.web"))
    os.kill(serving, signal.SIGKILL)
    until(lambda: serving not in alive({serving}), "it to be gone")
    until(lambda: running.status("/readyz") == 200, "another to answer")


@shares_a_daybook
def test_a_second_one_on_the_same_data_is_refused(running: Daybook) -> None:
    second = subprocess.run(
        [sys.executable, "manage.py", "up", "--port", str(free_port())],
        cwd=ROOT,
        env=running.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert second.returncode == 1
    assert f"Daybook already runs on {running.data_dir} (process {running.pid})." in second.stderr
    assert running.status("/readyz") == 200


@shares_a_daybook
def test_a_data_directory_may_be_deep_and_have_any_name(running: Daybook) -> None:
    assert running.get("/healthz").json() == {"status": "ok"}
    assert not (running.data_dir / "broker.sock").exists()
    assert (running.data_dir / "broker" / "appendonlydir").is_dir() == ("broker" in services(running))


def test_a_port_in_use_is_named(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(up, "PORT_PATIENCE", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(CommandError) as refused:
            call_command("up", host="127.0.0.1", port=port)
    assert str(refused.value) == f"127.0.0.1:{port} is in use: choose another with --port or DAYBOOK_PORT."


def test_without_a_broker_it_is_not_ready_and_a_second_signal_hurries_its_stop(
    make_daybook: MakeDaybook, tmp_path: Path
) -> None:
    daybook = make_daybook(REDIS_URL=f"unix://{tmp_path}/nobody.sock").start()
    until(lambda: daybook.status("/healthz") == 200, "the web server")

    answer = daybook.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["detail"] == "broker: does not answer"
    assert not daybook.says("Daybook is ready")

    daybook.remember_family()
    os.kill(child_pid(daybook, "config.web"), signal.SIGSTOP)
    os.kill(daybook.pid, signal.SIGINT)
    until(lambda: daybook.says("Stopping"), "the first signal to be taken")
    assert daybook.send(signal.SIGINT) == 0
    assert "web did not stop and is killed" in daybook.output()
    assert daybook.output().endswith("Stopped.\n")
    until(lambda: not alive(daybook.family), "everything to be gone")
