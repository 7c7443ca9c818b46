"""A web server killed under its writers: what it acknowledged is there, and nothing is there twice."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest

from sessions_app.models import Message
from tests.conftest import Api
from tests.operations.daybook import ROOT, descendants, free_port, until

from .crew import environment
from .record import assert_consistent

WRITERS = 4


class Web:
    def __init__(self, log: Path, **variables: str) -> None:
        self.port = free_port()
        self._variables = {"DAYBOOK_WEB_WORKERS": "1", "DAYBOOK_DURABLE": "true"} | variables
        self._log = log
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "config.web"],
                cwd=ROOT,
                env=environment(DAYBOOK_PORT=str(self.port), **self._variables),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        until(self._answers, "the web server")

    def kill(self) -> None:
        """Without a word, and its serving process first: nobody gets to finish anything."""
        for pid in [*descendants(self._process.pid), self._process.pid]:
            os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def _answers(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/healthz").status_code == 200
        except httpx.TransportError:
            return False


def write(web: Web, api: Api, session: str, writer: int, acknowledged: dict[str, int]) -> None:
    """One message after the other until the server is gone; the last one has no answer."""
    headers = {"Authorization": f"Bearer {api.secret}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{web.port}/api/v1", headers=headers) as client:
        for number in range(100_000):
            text = f"{writer}.{number}"
            try:
                answer = client.post(
                    f"/sessions/{session}/messages",
                    json={"role": "user", "content": text},
                    headers={"Idempotency-Key": text},
                )
            except httpx.TransportError:
                return
            assert answer.status_code == 201
            acknowledged[text] = answer.json()["items"][0]["seq"]


@pytest.mark.django_db(transaction=True)
def test_a_killed_server_loses_nothing_that_it_acknowledged(api: Api, tmp_path: Path) -> None:
    session = api.open()
    web = Web(tmp_path / "web.log")
    acknowledged: dict[str, int] = {}
    threads = [
        threading.Thread(target=write, args=(web, api, session, writer, acknowledged))
        for writer in range(WRITERS)
    ]
    try:
        for thread in threads:
            thread.start()
        until(lambda: len(acknowledged) > 100, "a hundred messages")
    finally:
        web.kill()
    for thread in threads:
        thread.join()
    row = assert_consistent(session)
    stored = {
        message["content"]: seq
        for seq, message in enumerate(api.window(session, "?max_messages=10000")["messages"], 1)
    }
    assert acknowledged.items() <= stored.items()
    # At most the one that each writer had under way is stored without an answer.
    assert len(stored) - len(acknowledged) <= WRITERS

    web.start()
    try:
        headers = {"Authorization": f"Bearer {api.secret}"}
        for text in [*list(stored)[-20:], "new"]:
            answer = httpx.post(
                f"http://127.0.0.1:{web.port}/api/v1/sessions/{session}/messages",
                json={"role": "user", "content": text},
                headers={**headers, "Idempotency-Key": text},
            )
            assert answer.json()["items"][0]["seq"] == stored.get(text, row.last_seq + 1)
            assert ("Idempotent-Replayed" in answer.headers) == (text != "new")
    finally:
        web.kill()
    assert assert_consistent(session).last_seq == row.last_seq + 1 == Message.objects.count()
