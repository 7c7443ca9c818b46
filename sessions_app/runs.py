"""Long work on all sessions of an agent: a row tells how far it has come."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db.models import F, Q

from sessions_app import condensing, paging
from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.models import Agent, Run, Session
from sessions_app.objects import iso, uid_text
from sessions_app.triggers import ASKED

CONSOLIDATE = "consolidate"
PAGE = 500
RUNNING, DONE, STOPPED = "running", "done", "stopped"
# Beside what a model may take for one session, which is the longest that a run says nothing.
SILENT = timedelta(minutes=5)
KILLED = "It ended without a word: its process was killed. What it has not done is still to be done."

Clock = Callable[[], datetime]
log = structlog.get_logger(__name__)


def consolidate_all(agent: Agent, clock: Clock, told: Callable[[Run], object] = lambda run: None) -> Run:
    """Every session of the agent that has something left; the run is told of after each."""
    now = clock()
    total = _left(agent).count()
    run = commit(
        lambda: Run.objects.create(agent=agent, name=CONSOLIDATE, total=total, started_at=now, updated_at=now)
    )
    try:
        for pk in _each(agent):
            _step(run, pk, clock)
            told(run)
        run.state = DONE
    finally:
        # Stopped on the way, by Ctrl-C or a broken database: it must not look as if it still went on.
        run.state = STOPPED if run.state == RUNNING else run.state
        run.finished_at = clock()
        _note(run, clock())
    return run


def settle(now: datetime) -> int:
    """A run that was killed could not say so; how many of them there are."""
    silent = SILENT + timedelta(seconds=condensing.LLM_FAILURES * settings.LLM_TIMEOUT_SECONDS)
    killed = Run.objects.filter(state=RUNNING, updated_at__lt=now - silent)
    return commit(lambda: killed.update(state=STOPPED, finished_at=F("updated_at"), last_error=KILLED))


def listed(caller: Caller, *, cursor: str | None, limit: int) -> paging.Page:
    found = Run.objects.filter(agent_id=caller.agent_id)
    if cursor is not None:
        started_at, uid = paging.decode(cursor, paging.moment, paging.uid)
        found = found.filter(Q(started_at__lt=started_at) | Q(started_at=started_at, uid__lt=uid))
    rows = list(found.order_by("-started_at", "-uid")[: limit + 1])
    return paging.page(
        rows,
        limit,
        lambda rows: [shown(row) for row in rows],
        lambda row: paging.encode(iso(row.started_at) or "", uid_text(row.uid) or ""),
    )


def shown(run: Run) -> dict[str, Any]:
    return {
        "id": uid_text(run.uid),
        "name": run.name,
        "state": run.state,
        "total": run.total,
        "done": run.done,
        "failed": run.failed,
        "last_error": run.last_error or None,
        "started_at": iso(run.started_at),
        "updated_at": iso(run.updated_at),
        "finished_at": iso(run.finished_at),
    }


def _left(agent: Agent) -> Any:
    return Session.objects.filter(agent=agent, last_seq__gt=F("consolidated_through"))


def _each(agent: Agent) -> Iterator[int]:
    after = 0
    while pks := list(_left(agent).filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:PAGE]):
        yield from pks
        after = pks[-1]


def _step(run: Run, session_pk: int, clock: Clock) -> None:
    try:
        condensing.consolidate(session_pk, ASKED, clock)
    except Exception as error:
        # The others are worth it all the same.
        log.exception("a session was not condensed", session=session_pk)
        run.failed += 1
        run.last_error = f"{type(error).__name__}: {error}"[:500]
    run.done += 1
    _note(run, clock())


def _note(run: Run, now: datetime) -> None:
    run.updated_at = now
    commit(
        lambda: run.save(update_fields=["state", "done", "failed", "last_error", "updated_at", "finished_at"])
    )
