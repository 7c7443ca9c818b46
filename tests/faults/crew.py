"""Processes of our own on the database of the tests: what must be exact at any concurrency meets there."""

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson
from django.db import connection

from tests.operations.daybook import ROOT

PROCESSES = 3

Call = tuple[str, str, Any, dict[str, str]]


@dataclass(frozen=True)
class Said:
    status: int
    body: Any
    replayed: bool


def environment(**variables: str) -> dict[str, str]:
    """That of a process which works on the database of this test."""
    return {
        **os.environ,
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    } | variables


def database_url() -> str:
    known = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{quote(str(known['NAME']))}"
    who = f"{quote(known['USER'])}:{quote(known['PASSWORD'])}@" if known["USER"] else ""
    return (
        f"postgres://{who}/{quote(known['NAME'])}?host={quote(known['HOST'], safe='')}&port={known['PORT']}"
    )


class Crew:
    """Each of its processes sends what it is given with as many threads as there are lists of calls."""

    def __init__(self) -> None:
        self._hands = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.faults.hand"],
                cwd=ROOT,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for _ in range(PROCESSES)
        ]
        for hand in self._hands:
            assert hand.stdout is not None
            assert hand.stdout.readline() == b"ready\n"

    def send(self, secret: str, *plans: list[list[Call]]) -> list[list[list[Said]]]:
        """One plan for each process: one list of calls for each of its threads. The answers in that shape."""
        assert len(plans) <= len(self._hands)
        for hand, plan in zip(self._hands, plans, strict=False):
            assert hand.stdin is not None
            hand.stdin.write(orjson.dumps([secret, plan]) + b"\n")
            hand.stdin.flush()
        found = []
        for hand in self._hands[: len(plans)]:
            assert hand.stdout is not None
            threads = orjson.loads(hand.stdout.readline())
            found.append([[Said(*answer) for answer in thread] for thread in threads])
        return found

    def send_all(self, secret: str, threads: int, calls: list[Call]) -> list[Said]:
        """All of the calls, dealt out over all processes and so many threads in each."""
        hands = len(self._hands)
        plans = [
            [calls[hand + hands * thread :: hands * threads] for thread in range(threads)]
            for hand in range(hands)
        ]
        return [said for plan in self.send(secret, *plans) for thread in plan for said in thread]

    def end(self) -> None:
        for hand in self._hands:
            hand.communicate()
