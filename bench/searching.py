"""A record to search in, by the million, and searches in it without HTTP, on the database of the environment.

`python -m bench.searching fill MESSAGES` stores them, `… index` feeds the index and tells its size,
`… run TIMES` prints how long each class of query took, as JSON."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import django

from bench.corpus import Corpus

SEED = 7
CHARACTERS = 300
HALVES = 20_000
SESSIONS = 1_000
LIMIT = 20

# Each in so many of 10 000 messages.
WORDS = {"85 %": ("zenith", 8_500), "3 %": ("quorum", 300), "1 %": ("vertex", 100), "0.01 %": ("obsidian", 1)}
PAIR = "数据"
VOCABULARY = 5_000
SCRIPTS = ((0x4E00, 1_500), (0x3042, 80), (0xAC00, 1_500))


def texts(messages: int) -> Iterator[str]:
    """300 characters each, words by Zipf, one in fifty Chinese, Japanese or Korean; the same in each run."""
    source, corpus = Random(SEED), Corpus(SEED)
    halves = corpus.texts(HALVES, CHARACTERS // 2)
    for number in range(messages):
        if number % 50 == 0:
            yield _without_spaces(source, number)
            continue
        marks = [word for word, often in WORDS.values() if (number + 7) * 7_919 % 10_000 < often]
        first, second = (halves[int(source.random() * HALVES)] for _ in range(2))
        yield " ".join([*marks, first, second])[:CHARACTERS]


def _without_spaces(source: Random, number: int) -> str:
    """Words of two characters, some frequent and most rare."""
    start, size = SCRIPTS[number // 50 % len(SCRIPTS)]
    words = []
    for _ in range(CHARACTERS // 2):
        word = int(VOCABULARY ** source.random())
        words.append(chr(start + word * 31 % size) + chr(start + word * 17 % size))
    if number % 1_000 == 0:
        words[50] = PAIR
    return "".join(words)


def classes() -> dict[str, tuple[str, str, Callable[[], str]]]:
    """What is asked: by name the mode, the order, and the next query."""
    never = (f"qoph{number}" for number in count())
    parts, numbers = Corpus(SEED), count()
    found: dict[str, tuple[str, str, Callable[[], str]]] = {}
    for often, (word, _) in WORDS.items():
        found[f"newest, word in {often}"] = ("text", "newest", lambda word=word: word)  # type: ignore[misc]
    found["newest, no hit"] = ("text", "newest", lambda: next(never))
    for often, (word, _) in WORDS.items():
        found[f"rank, word in {often}"] = ("text", "rank", lambda word=word: word)  # type: ignore[misc]
    found["rank, two frequent words"] = ("text", "rank", lambda: "zenith quorum")
    found["two Chinese characters"] = ("text", "newest", lambda: PAIR)
    found["substring, part of a rare word"] = ("substring", "newest", lambda: "bsidia")
    found["substring, no hit"] = (
        "substring",
        "newest",
        lambda: f"{parts.word()}{next(numbers)}{parts.word()}",
    )
    found["substring, no hit, of frequent parts"] = (
        "substring",
        "newest",
        lambda: "".join(parts.word() for _ in range(4)),
    )
    return found


def main(step: str, *arguments: str) -> None:
    steps: dict[str, Callable[..., None]] = {"fill": _fill, "index": _index, "run": _run}
    steps[step](*map(int, arguments))


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
            at = begin + timedelta(seconds=2 * number)
            made = entry(
                {"role": ("user", "assistant")[seq % 2], "content": text}, now=at, zone=ZoneInfo("UTC")
            )
            yield (session.agent_id, session.id, seq, *made[:6], at, "")

    _store_messages(rows())


def _index() -> None:
    from django.utils import timezone

    from sessions_app.search import indexing

    began, steps = time.perf_counter(), 0
    while indexing.step(timezone.now()):
        steps += 1
    seconds = time.perf_counter() - began
    json.dump({"seconds": seconds, **_sizes()}, sys.stdout)


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
    from sessions_app.access import Caller
    from sessions_app.models import Agent
    from sessions_app.search.filters import Filters
    from sessions_app.search.find import Asked, search

    agent = Agent.objects.get(name="main")
    caller = Caller(0, agent.pk, agent.name, "UTC", frozenset({"read"}))
    told: dict[str, list[float]] = {}
    asked = classes()
    for turn in range(times + 1):
        for name, (mode, order, query) in asked.items():
            one = Asked(query(), mode, Filters(), order, LIMIT)
            began = time.perf_counter()
            search(caller, one)
            # The first of each is for the caches.
            told.setdefault(name, []).extend([time.perf_counter() - began] if turn else [])
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    django.setup()
    main(*sys.argv[1:])
