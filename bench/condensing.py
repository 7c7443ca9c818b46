"""Consolidation and reflection on the database that the environment names; figures as JSON.

`python -m bench.condensing one SESSION` condenses a session and takes it back; `idle SESSIONS` makes so many
idle, finds and condenses them; `reflect ENTRIES` writes a report. Each prints seconds and peak memory."""

import json
import resource
import sys
import time
from datetime import UTC, datetime, timedelta

import django


def main(step: str, given: str) -> None:
    before = _peak()
    seconds = {"one": _one, "idle": _idle, "reflect": _reflect}[step](given)
    json.dump({"seconds": seconds, "peak_mib": _peak(), "before_mib": before}, sys.stdout)


def _one(session_uid: str) -> float:
    from sessions_app import condensing
    from sessions_app.embedding import embedder
    from sessions_app.models import Consolidation, Session
    from sessions_app.triggers import ASKED

    embedder().embed(["loaded before the clock starts"])
    session = Session.objects.get(uid=session_uid)
    began = time.perf_counter()
    made = condensing.consolidate(session.pk, ASKED, _now)
    seconds = time.perf_counter() - began
    if made is None or made.entries < session.last_seq - 2:
        raise SystemExit("the session was not condensed")
    Consolidation.objects.all().delete()
    Session.objects.filter(pk=session.pk).update(consolidated_through=0, summary="")
    return seconds


def _idle(sessions: str) -> float:
    from sessions_app import consolidation_jobs
    from sessions_app.models import Consolidation, Session

    long_ago = _now() - timedelta(hours=1)
    chosen = list(Session.objects.order_by("-pk").values_list("pk", flat=True)[: int(sessions)])
    Consolidation.objects.all().delete()
    for start in range(0, len(chosen), 500):
        Session.objects.filter(pk__in=chosen[start : start + 500]).update(
            consolidated_through=0, summary="", active_at=long_ago, consolidate_check_at=long_ago
        )
    began = time.perf_counter()
    consolidation_jobs.find_due(_now)
    done = consolidation_jobs.work_off(_now)
    seconds = time.perf_counter() - began
    if done != len(chosen) or Consolidation.objects.count() != len(chosen):
        raise SystemExit(f"{len(chosen)} were idle and {done} were condensed")
    return seconds


def _reflect(entries: str) -> float:
    from sessions_app.models import Agent
    from sessions_app.reflections import ASKED, Scope, write

    agent = Agent.objects.get(name="main")
    began = time.perf_counter()
    report = write(agent, Scope(limit=int(entries)), ASKED, _now())
    seconds = time.perf_counter() - began
    if report.entries != int(entries):
        raise SystemExit(f"the report is on {report.entries} entries")
    return seconds


def _now() -> datetime:
    return datetime.now(UTC)


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


if __name__ == "__main__":
    django.setup()
    main(*sys.argv[1:])
