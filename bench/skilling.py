"""Skills without HTTP, on the database that the environment names; figures as JSON on standard output.

`python -m bench.skilling fill N` stores N finished invocations; `track THREADS NUMBER SECONDS` is a member of
a crew; `recommend N ROUNDS` asks over N vectors; `labelled` asks the labelled set."""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import mul
from pathlib import Path
from typing import Any

import django
import numpy as np

SKILL_COUNT, PHASES, DAYS = 30, 4, 60
QUESTIONS = 200
SEED = 5

FILL = """WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
INSERT INTO skills_app_skillinvocation (uid, agent_id, skill_name, workflow_path, workflow_phase, user_query,
  alternatives_considered, follow_up_actions, state, error_type, invoked_at, finished_at, duration_us)
SELECT {uid}, {agent}, 'skill ' || (n % 30), 'quick', 'phase ' || (n / 30 % 4), '', '[]', '["commit"]',
  CASE WHEN n % 7 = 0 THEN 'failed' ELSE 'completed' END, CASE WHEN n % 7 = 0 THEN 'Timeout' ELSE '' END,
  {at}, {at}, n % 1000000 FROM numbers"""
OWN = {
    "sqlite": {
        "uid": "lower(hex(randomblob(16)))",
        "at": "strftime('%Y-%m-%d %H:%M:%f000', 'now', '-' || (n % 5184000) || ' seconds')",
    },
    "postgresql": {"uid": "gen_random_uuid()", "at": "now() - make_interval(secs => n % 5184000)"},
}


def caller() -> Any:
    from sessions_app.access import Caller
    from sessions_app.models import Agent

    agent = Agent.objects.get(name="main")
    return Caller(1, agent.pk, "main", "UTC", frozenset({"write"}))


def fill(count: str) -> None:
    from django.db import connection

    from sessions_app.commits import commit
    from skills_app.models import SkillRollup, SkillTally
    from skills_app.recounting import rebuild
    from skills_app.rollup_rules import EVER

    who = caller()
    with connection.cursor() as cursor:
        cursor.execute(FILL.format(count=int(count), agent=who.agent_id, **OWN[connection.vendor]))
    commit(lambda: rebuild(who.agent_id))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE" if connection.vendor == "sqlite" else "VACUUM ANALYZE")
    read = sum(table._default_manager.filter(day=EVER).count() for table in (SkillRollup, SkillTally))
    print(json.dumps({"rows": read}))


def track(threads: str, number: str, seconds: str) -> None:
    from django.db import connection

    from bench.crew import serve

    who = caller()
    steps = [_pair(who, int(number) * 100 + place) for place in range(int(threads))]
    # Given back to the pool, which has as many as there are threads.
    connection.close()
    serve(steps, float(seconds))


def _pair(who: Any, place: int) -> Callable[[], None]:
    from sessions_app.commits import commit
    from skills_app import tracking, vectors
    from skills_app.tracking import Use

    vectors.at_once(["load it before the clock starts"])
    turn = iter(range(place, 10**9))

    def pair() -> None:
        n, now = next(turn), datetime.now(UTC)
        use = Use(f"skill {n % SKILL_COUNT}", now, None, "quick", f"phase {n % PHASES}", f"fix the error {n}")
        (vector,) = vectors.at_once([use.user_query])
        uid = commit(lambda: tracking.start(who, use, vector))
        commit(
            lambda: tracking.complete(
                who,
                uid,
                completed=True,
                follow_up_actions=("commit",),
                error_type="",
                duration_us=None,
                now=now,
            )
        )

    return pair


def file_pair(folder: str, count: str) -> None:
    """What a tracker does that keeps all invocations in one JSON file and writes it with each completion."""
    path = Path(folder) / "skills.json"
    one = {
        "skill_name": "skill", "invoked_at": datetime.now(UTC).isoformat(), "session_id": "s",
        "workflow_path": "quick", "completed": True, "duration_seconds": 1.5, "user_query": "fix the error",
        "alternatives_considered": [], "selection_rank": 1, "follow_up_actions": ["commit"],
        "error_type": None,
    }  # fmt: skip
    kept = [dict(one) for _ in range(int(count))]
    taken = []
    for _ in range(5):
        before = time.perf_counter()
        kept.append(dict(one))
        path.write_text(json.dumps({"invocations": kept, "skills": {}}, indent=2))
        taken.append(time.perf_counter() - before)
    print(json.dumps(taken))


def recommend(count: str, rounds: str) -> None:
    """Latencies of ours and of the bare product in turns, and of a loop; the memory that ours takes."""
    from skills_app.recommending import Question
    from skills_app.recommending import recommend as ask

    who = caller()
    # With 0 the vectors are there already, and only ours is measured.
    matrix = _store_vectors(who, int(count))
    before = _memory()
    ask(who, Question("the first question loads"))
    told: dict[str, Any] = {"megabytes": _memory() - before, "ours": [], "bare": [], "loop": []}
    for _ in range(int(rounds)):
        told["ours"].append(
            _timed(lambda n: ask(who, Question(f"question number {n}", workflow_phase="phase 1")), QUESTIONS)
        )
        if len(matrix):
            told["bare"].append(_timed(lambda n: matrix @ matrix[n], QUESTIONS))
    if len(matrix):
        rows = [row.tolist() for row in matrix[: len(matrix) // 10]]
        loop = _timed(lambda n: [sum(map(mul, rows[n], row)) for row in rows], 2)
        told["loop"].append([each * 10 for each in loop])
    print(json.dumps(told))


def _store_vectors(who: Any, count: int) -> Any:
    from sessions_app.commits import commit
    from sessions_app.embedding import embedder, normalised, packed
    from sessions_app.models import time_ordered_id
    from skills_app.tracking import Use, _insert
    from skills_app.vectors import Vector

    model = embedder()
    matrix = normalised(np.random.default_rng(SEED).normal(size=(count, model.dimensions)).astype(np.float32))
    begin = datetime.now(UTC) - timedelta(days=DAYS)

    def store(first: int) -> None:
        for n in range(first, min(first + 2000, count)):
            use = Use(
                f"skill {n % SKILL_COUNT}", begin, user_query=f"query {n}", workflow_phase=f"phase {n % 4}"
            )
            _insert(who.agent_id, time_ordered_id(), use, Vector(model.model, packed(matrix[n])))

    for first in range(0, count, 2000):
        commit(partial(store, first))
    return matrix


def _timed(step: Callable[[int], object], times: int) -> list[float]:
    taken = []
    for n in range(times):
        before = time.perf_counter()
        step(n)
        taken.append(time.perf_counter() - before)
    return taken


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def labelled() -> None:
    """How often the right skill is the first, and among the first five."""
    from bench.labelled import asked_queries, past_queries
    from skills_app.recommending import Question
    from skills_app.recommending import recommend as ask
    from skills_app.tracking import Use, bring_in

    who, now = caller(), datetime.now(UTC)
    past = [
        Use(skill, now, user_query=query, state="completed", finished_at=now, import_key=f"{n}")
        for n, (skill, query) in enumerate(past_queries())
    ]
    bring_in(who, past)
    asked = asked_queries()
    found: list[list[str]] = []
    ask(who, Question("the first question loads"))
    taken = _timed(
        lambda n: found.append([item["skill_name"] for item in ask(who, Question(asked[n][1]))["items"]]),
        len(asked),
    )
    right = [skill for skill, _ in asked]
    first = sum(names[:1] == [skill] for names, skill in zip(found, right, strict=True))
    five = sum(skill in names[:5] for names, skill in zip(found, right, strict=True))
    print(json.dumps({"asked": len(asked), "first": first, "five": five, "taken": taken}))


STEPS: dict[str, Callable[..., None]] = {
    "fill": fill, "track": track, "file": file_pair, "recommend": recommend, "labelled": labelled,
}  # fmt: skip

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    STEPS[sys.argv[1]](*sys.argv[2:])
