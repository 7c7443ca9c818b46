"""Searches without HTTP, appends and the feeding of the index, on the database of the environment.

`python -m bench.searching fill MESSAGES` stores them, `… index` feeds the index and tells its size, `…
run TIMES` prints how long each class of query took, `… append SECONDS` how long each append. `… feed`
does what the worker does until it is ended, and `… lag SECONDS` appends beside it and tells how far the
index is behind."""

import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

import django

from bench import BenchError
from bench.haystack import LIMIT, SESSIONS, STEP_SECONDS, classes, texts

# As the schedule of the product has it.
FEEDING_SECONDS = 2
LOOK_SECONDS = 0.05
APPENDED_TO = "bench:appended"


def main(step: str, *arguments: str) -> None:
    STEPS[step](*map(int, arguments))


def _fill(messages: int) -> None:
    from bench.fill import _store_messages, _store_sessions
    from sessions_app.entries import entry

    begin = datetime.now(UTC) - timedelta(days=30)
    many = min(SESSIONS, messages)
    sizes = [messages // many] * many
    sessions = _store_sessions(sizes, begin)

    def rows() -> Iterator[tuple[Any, ...]]:
        for number, text in enumerate(texts(sum(sizes))):
            session, seq = sessions[number % many], number // many + 1
            at = begin + timedelta(seconds=STEP_SECONDS * number)
            made = entry(
                {"role": ("user", "assistant")[seq % 2], "content": text}, now=at, zone=ZoneInfo("UTC")
            )
            yield (session.agent_id, session.id, seq, *made[:6], at, "")

    _store_messages(rows())


def _index() -> None:
    from django.utils import timezone

    from sessions_app.search import indexing

    began = time.perf_counter()
    while indexing.step(timezone.now()):
        pass
    _tell({"seconds": time.perf_counter() - began, **_sizes()})


def _sizes() -> dict[str, int]:
    """Of the texts, and of all that the index takes on disk."""
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT SUM(LENGTH(data)) + COUNT(*) * 24 FROM sessions_app_searchpage")
            pages = cursor.fetchone()[0]
            cursor.execute(
                "SELECT SUM(LENGTH(messages) + LENGTH(times) + LENGTH(directory)) "
                "FROM sessions_app_searchsegment"
            )
            index = pages + cursor.fetchone()[0]
            cursor.execute(
                "SELECT SUM(LENGTH(CAST(json_extract(body, '$.content') AS BLOB))) FROM sessions_app_message"
            )
        else:
            cursor.execute(
                "SELECT pg_total_relation_size('sessions_app_searchpage') "
                "+ pg_total_relation_size('sessions_app_searchsegment')"
            )
            index = cursor.fetchone()[0]
            cursor.execute("SELECT SUM(OCTET_LENGTH(body::json ->> 'content')) FROM sessions_app_message")
        return {"index": int(index), "text": int(cursor.fetchone()[0])}


def _run(times: int) -> None:
    """The first query of each class comes to a process that has read nothing yet, and is told apart."""
    from sessions_app.search.filters import Filters
    from sessions_app.search.find import Asked, search

    who, asked = caller(), classes()
    told: dict[str, list[float]] = {name: [] for name in asked}
    processor: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(times + 1):
        for name, (mode, order, query) in asked.items():
            one = Asked(query(), mode, Filters(), order, LIMIT)
            began, worked = time.perf_counter(), time.thread_time()
            items = search(who, one)["items"]
            told[name].append(time.perf_counter() - began)
            processor[name].append(time.thread_time() - worked)
            if items and "no hit" in name:
                raise BenchError(f"{name}: {len(items)} messages were found")
    _tell(
        {
            name: {"first": taken[0], "then": taken[1:], "processor": processor[name][1:]}
            for name, taken in told.items()
        }
    )


def _append(seconds: int) -> None:
    append = _appender()
    until, taken = time.monotonic() + seconds, []
    while time.monotonic() < until:
        began = time.perf_counter()
        append()
        taken.append(time.perf_counter() - began)
    _tell(taken)


def _feed() -> None:
    from sessions_app.search import indexing
    from sessions_app.search.duty import work_off

    while True:
        work_off("index", indexing.step, FEEDING_SECONDS * 10)
        time.sleep(FEEDING_SECONDS)


def _lag(seconds: int) -> None:
    """Between the answer to an append and the moment when the index has the message."""
    from sessions_app.models import Session

    append = _appender()
    began, waiting, lags, count = time.monotonic(), deque[tuple[int, float]](), [], 0
    looked = began
    while waiting or time.monotonic() < began + seconds:
        if time.monotonic() < began + seconds:
            waiting.append((append(), time.monotonic()))
            count += 1
        else:
            time.sleep(LOOK_SECONDS)
        if time.monotonic() - looked >= LOOK_SECONDS:
            looked = time.monotonic()
            through = Session.objects.get(key=APPENDED_TO).searched_through
            while waiting and waiting[0][0] <= through:
                lags.append(looked - waiting.popleft()[1])
    _tell({"lags": lags, "rate": count / seconds})


def _appender() -> Callable[[], int]:
    """The product's append of one message, with its own transaction; gives the message's seq."""
    from sessions_app.commits import commit
    from sessions_app.models import Session
    from sessions_app.recording import append, entries_of

    who = caller()
    session, _ = Session.objects.get_or_create(agent_id=who.agent_id, key=APPENDED_TO)
    body = {"role": "user", "content": next(islice(texts(2), 1, None))}

    def once() -> int:
        now = datetime.now(UTC)
        entries = entries_of(body, who, now)
        stored = commit(lambda: append(who, session.uid, entries, now))
        seq: int = stored["items"][0]["seq"]
        return seq

    return once


def caller() -> Any:
    from sessions_app.access import Caller
    from sessions_app.models import Agent

    agent = Agent.objects.get(name="main")
    return Caller(0, agent.pk, agent.name, "UTC", frozenset({"read", "write"}))


def _tell(what: Any) -> None:
    json.dump(what, sys.stdout)


STEPS: dict[str, Callable[..., None]] = {
    "fill": _fill, "index": _index, "run": _run, "append": _append, "feed": _feed, "lag": _lag,
}  # fmt: skip

if __name__ == "__main__":
    django.setup()
    main(*sys.argv[1:])
