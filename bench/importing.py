"""Imports a made-up transcript and tells how long it took, beside the bare driver.

`python -m bench.importing nanobot 100000 FILE` writes the file if there is none, imports it, prints JSON."""

import json
import resource
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import django
import orjson

CHARACTERS = 300
TEXTS = 4_096
BEGIN = datetime(2026, 1, 1)  # noqa: DTZ001 - as the programs write it
BATCH = 500


def lines_of(form: str, count: int) -> Iterator[dict[str, Any]]:
    from bench.corpus import Corpus

    texts = Corpus(5).texts(TEXTS, CHARACTERS)
    parent = None
    if form == "nanobot":
        yield {"_type": "metadata", "key": "bench:import", "created_at": BEGIN.isoformat(), "metadata": {}}
    for number in range(count):
        at = (BEGIN + timedelta(seconds=number)).isoformat()
        role = "assistant" if number % 2 else "user"
        text = texts[number % TEXTS]
        if form == "nanobot":
            yield {"role": role, "content": text, "timestamp": at}
            continue
        uuid = f"{number:08x}-0000-4000-8000-000000000000"
        content: Any = [{"type": "text", "text": text}] if number % 2 else text
        message = {"id": f"m{number}", "role": role, "content": content}
        yield {
            "uuid": uuid, "parentUuid": parent, "sessionId": "bench", "type": role, "isSidechain": False,
            "timestamp": f"{at}Z", "cwd": "/w/shop", "version": "2.1.0", "message": message,
        }  # fmt: skip
        parent = uuid


def take(form: str, count: int, path: Path) -> dict[str, float]:
    from gateway_app.admin.acting import acting_for
    from gateway_app.keys import agent_named
    from sessions_app.transcripts.importing import import_path

    if not path.exists():
        with path.open("wb") as stream:
            stream.writelines(orjson.dumps(line) + b"\n" for line in lines_of(form, count))
    caller = acting_for(agent_named(f"import-{time.time_ns()}"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    report = import_path(caller, form, path, datetime.now(UTC)).shown()
    seconds = time.perf_counter() - begun
    assert report["stored"] == count, report
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"seconds": seconds, "bare": bare(path), "grown_kib": grown, "bytes": path.stat().st_size}


def bare(path: Path) -> float:
    """The limit: the lines parsed and put into the table of messages, a commit for every batch, no checks."""
    from django.db import connection, transaction

    from sessions_app.models import Session
    from sessions_app.transcripts.storing import INSERT

    session = Session.objects.latest("pk")
    at = connection.ops.adapt_datetimefield_value(datetime.now(UTC))
    begun = time.perf_counter()
    rows: list[tuple[Any, ...]] = []

    def flush() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(INSERT, rows)
        rows.clear()

    with path.open("rb") as stream:
        for seq, line in enumerate(stream, session.last_seq + 1):
            body = orjson.dumps(orjson.loads(line)).decode()
            rows.append((session.agent_id, session.pk, seq, "message", "user", body, None, True, 1, at, ""))
            if len(rows) == BATCH:
                flush()
        flush()
    return time.perf_counter() - begun


if __name__ == "__main__":
    django.setup()
    json.dump(take(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])), sys.stdout)
