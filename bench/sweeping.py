"""Open sessions by the million and the sweep over them, on the database that the environment names.

`python -m bench.sweeping fill SESSIONS` stores them, none of them due; `python -m bench.sweeping run DUE`
makes so many due, sweeps, and prints how long each batch took as JSON."""

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import django

IDLE_MINUTES = 1440
UIDS = {"sqlite": "lower(hex(randomblob(16)))", "postgresql": "gen_random_uuid()"}
COPY = """WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {more})
INSERT INTO sessions_app_session ({columns})
SELECT {values} FROM sessions_app_session first, numbers WHERE first.id = {first}"""


def main(step: str, count: str) -> None:
    {"fill": _fill, "run": _run}[step](int(count))


def _fill(sessions: int) -> None:
    """One session as the product makes it, and copies of it, by the database itself."""
    from django.db import connection

    first = _first()
    copied = [field.column for field in type(first)._meta.local_fields if not field.primary_key]
    other = {"uid": UIDS[connection.vendor], "key": f"'{first.key}' || numbers.n"}
    values = [other.get(column, f"first.{column}") for column in copied]
    with connection.cursor() as cursor:
        if sessions > 1:
            cursor.execute(
                COPY.format(
                    more=sessions - 1, columns=", ".join(copied), values=", ".join(values), first=first.pk
                )
            )
        # What the server would do by and by: better now than in the middle of a measurement.
        cursor.execute("ANALYZE" if connection.vendor == "sqlite" else "VACUUM ANALYZE")


def _first() -> Any:
    from sessions_app.models import Agent, Session

    # By idleness alone, so that no hour comes in the middle of a measurement and makes all of them due.
    policies = json.dumps([["", "", "idle", IDLE_MINUTES, 4, ""]])
    Agent.objects.filter(name="main").update(reset_policies=policies, reset_recheck_after=None)
    now = datetime.now(UTC)
    return Session.objects.create(
        agent=Agent.objects.get(name="main"),
        key="agent:main:telegram:dm:",
        platform="telegram",
        chat_type="dm",
        active_at=now,
        reset_check_at=now + timedelta(minutes=IDLE_MINUTES),
        last_seq=1,
        messages_count=1,
    )


def _run(due: int) -> None:
    from gateway_app import sweep
    from sessions_app.models import Session

    opened = Session.objects.filter(ended_at__isnull=True)
    left = opened.count() - due
    long_ago = datetime.now(UTC) - timedelta(minutes=2 * IDLE_MINUTES)
    chosen = list(opened.order_by("?").values_list("pk", flat=True)[:due])
    for start in range(0, due, 500):
        some = Session.objects.filter(pk__in=chosen[start : start + 500])
        some.update(active_at=long_ago, reset_check_at=long_ago)
    batches: list[float] = []
    before = time.perf_counter()
    while sweep.step(datetime.now(UTC)):
        batches.append((now := time.perf_counter()) - before)
        before = now
    if opened.count() != left:
        raise SystemExit(f"{due} were due and {opened.count() - left} of them are still open")
    json.dump(batches, sys.stdout)


if __name__ == "__main__":
    django.setup()
    main(*sys.argv[1:])
