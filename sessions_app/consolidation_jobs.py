"""Finds the sessions that are to be condensed and works them off. Jobs are claimed by a conditional
update; a claim is renewed while the work goes on, and ends soon after whoever made it was killed."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import structlog
from django.db import DatabaseError, connections
from django.db.models import QuerySet

from sessions_app import condensing
from sessions_app.commits import commit
from sessions_app.consolidation import queue
from sessions_app.engines import EXTRACTIVE, EngineFailed
from sessions_app.models import Agent, ConsolidationJob, Session
from sessions_app.triggers import due

BATCH = 500
CLAIM = timedelta(seconds=60)
RENEW_SECONDS = 15.0
# After a failure, times two for each that came before.
PAUSE = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(hours=1)
COLUMNS = ("pk", "agent_id", "created_at", "active_at", "unconsolidated_tokens")

Clock = Callable[[], datetime]
log = structlog.get_logger(__name__)


def find_due(clock: Clock) -> int:
    """All that are due, a batch at a time; how many are queued."""
    queued = 0
    while (found := commit(lambda: _look(clock()))) is not None:
        queued += found
    return queued


def work_off(clock: Clock, stopping: threading.Event | None = None, engine: str = "") -> int:
    """One after the other, oldest first, until none is due; how many were tried.

    With an engine, those of the agents that have it: a model that takes its time holds up nobody without one.
    """
    tried = 0
    while (stopping is None or not stopping.is_set()) and (job := _claim(clock(), engine)) is not None:
        tried += 1
        _attempt(job, clock)
    return tried


def _look(now: datetime) -> int | None:
    """Whoever writes to one of them meanwhile has it: it is passed over until the next look."""
    waiting = Session.objects.filter(ended_at__isnull=True, consolidate_check_at__lte=now)
    claimed = waiting.order_by("consolidate_check_at").select_for_update(skip_locked=True, no_key=True)
    rows = list(claimed.values(*COLUMNS)[:BATCH])
    if not rows:
        return None
    agents = Agent.objects.in_bulk({row["agent_id"] for row in rows})
    found: dict[str, list[int]] = {}
    later: list[Session] = []
    for row in rows:
        agent = agents[row["agent_id"]]
        last = row["active_at"] or row["created_at"]
        decision = due(
            row["unconsolidated_tokens"], agent.token_budget, last, agent.consolidate_after_minutes, now
        )
        if decision.trigger is not None:
            found.setdefault(decision.trigger, []).append(row["pk"])
        later.append(Session(pk=row["pk"], consolidate_check_at=decision.look_at))
    Session.objects.bulk_update(later, ["consolidate_check_at"])
    return sum(queue(pks, trigger, now) for trigger, pks in found.items())


def _claim(now: datetime, engine: str) -> ConsolidationJob | None:
    """The oldest that is due and that nobody else takes first."""
    waiting = ConsolidationJob.objects.filter(next_attempt_at__lte=now)
    if engine:
        waiting = waiting.filter(session__agent__consolidation_engine=engine)
    while (job := waiting.order_by("next_attempt_at", "pk").first()) is not None:
        if commit(lambda job=job: _prolong(job, now)):  # type: ignore[misc]
            return job
    return None


def _prolong(job: ConsolidationJob, now: datetime) -> bool:
    """False where it is not ours any more."""
    until = now + CLAIM
    if not _still(job).update(running=True, next_attempt_at=until):
        return False
    job.running, job.next_attempt_at = True, until
    return True


@contextmanager
def _held(job: ConsolidationJob, clock: Clock) -> Iterator[None]:
    """A model may take minutes; whoever is killed meanwhile keeps the job from others for one minute."""
    done = threading.Event()
    thread = threading.Thread(target=_renew, args=(job, clock, done), name="claim", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _renew(job: ConsolidationJob, clock: Clock, done: threading.Event) -> None:
    try:
        while not done.wait(RENEW_SECONDS) and commit(lambda: _prolong(job, clock())):
            pass
    except DatabaseError as error:
        # The work goes on: if somebody else begins it too, one of both is stored.
        log.warning("a claim was not renewed", session=job.session_id, error=str(error).strip())
    finally:
        connections.close_all()


def _still(job: ConsolidationJob) -> QuerySet[ConsolidationJob]:
    return ConsolidationJob.objects.filter(
        pk=job.pk, running=job.running, next_attempt_at=job.next_attempt_at
    )


def _attempt(job: ConsolidationJob, clock: Clock) -> None:
    try:
        if (plan := condensing.planned(job.session_id, job.trigger)) is not None:
            with _held(job, clock):
                made = _made(plan, job)
            condensing.store(plan, made, clock())
    except EngineFailed as error:
        _put_off(job, str(error), clock(), error.again_after)
    except Exception as error:
        # One session that cannot be condensed must not hold up the others, and is not given up.
        log.exception("a session was not condensed", session=job.session_id)
        _put_off(job, f"It failed on our side ({type(error).__name__}).", clock(), None)
    else:
        _finish(job, clock())


def _made(plan: condensing.Plan, job: ConsolidationJob) -> condensing.Made:
    if plan.engine != EXTRACTIVE and job.attempts >= condensing.LLM_FAILURES:
        return condensing.without_model(plan, job.last_error)
    try:
        return condensing.condensed(plan)
    except EngineFailed as error:
        if job.attempts + 1 < condensing.LLM_FAILURES:
            raise
        return condensing.without_model(plan, str(error))


def _finish(job: ConsolidationJob, now: datetime) -> None:
    """Done; but where another reason came up meanwhile, it waits on for that."""

    def work() -> None:
        if not _still(job).filter(trigger=job.trigger).delete()[0]:
            _still(job).update(running=False, next_attempt_at=now, attempts=0, last_error="")

    commit(work)


def _put_off(job: ConsolidationJob, error: str, now: datetime, again_after: float | None) -> None:
    pause = min(PAUSE * 2**job.attempts, LONGEST_PAUSE)
    if again_after is not None:
        pause = max(pause, timedelta(seconds=again_after))
    commit(
        lambda: _still(job).update(
            running=False, attempts=job.attempts + 1, last_error=error[:500], next_attempt_at=now + pause
        )
    )
