"""Condenses a range of a session: planned, done without any transaction, stored in one that sees whether the
plan still holds. Whoever comes second, and whoever was overtaken by a rewind, stores nothing."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, Sum
from django.db.models.functions import Coalesce, Least

from sessions_app import boundaries, memory
from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.consolidation import check_newest, newest, of, one, tokens_left
from sessions_app.engines import EXTRACTIVE, Digest, EngineFailed, Material, engine
from sessions_app.handover import pass_on
from sessions_app.live import release_connection
from sessions_app.material import said, spoken, visible
from sessions_app.models import Agent, Consolidation, Session
from sessions_app.points import from_text, loaded, stored
from sessions_app.tokens import estimate
from sessions_app.triggers import BUDGET

# So often a model may fail for a range before the sentences are chosen without one.
LLM_FAILURES = 3
# In seconds, between two tries for somebody who waits.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0
wait = time.sleep


@dataclass(frozen=True, slots=True)
class Plan:
    session_pk: int
    agent_id: int
    after: int
    through: int
    trigger: str
    engine: str
    entries: int
    material: Material
    # The consolidation that this one takes the place of.
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class Made:
    digest: Digest
    seconds: float
    fell_back: str = ""


def consolidate(session_pk: int, trigger: str, clock: Callable[[], datetime]) -> Consolidation | None:
    """Now, whatever it takes: a model is asked up to three times. None where nothing is to be condensed."""
    plan = planned(session_pk, trigger)
    return None if plan is None else store(plan, insisted(plan), clock())


def redo(
    caller: Caller, uid: UUID, text: str, *, name: str | None, by: str, clock: Callable[[], datetime]
) -> Consolidation | None:
    """The same range once more, by the engine that is named, else by the agent's."""
    session, found = one(caller, uid, text)
    check_newest(session, found)
    agent = Agent.objects.get(pk=caller.agent_id)
    before = of(session).filter(discarded_at__isnull=True, through_seq=found.from_seq - 1).first()
    engine_name = name or agent.consolidation_engine
    material = _material(session, engine_name, before, found.from_seq - 1, found.through_seq)
    plan = Plan(
        session.pk,
        agent.pk,
        found.from_seq - 1,
        found.through_seq,
        found.trigger,
        engine_name,
        visible(session.pk, found.from_seq - 1, found.through_seq).count(),
        material,
        found.pk,
    )
    return store(plan, insisted(plan), clock(), by)


def planned(session_pk: int, trigger: str) -> Plan | None:
    session = Session.objects.filter(pk=session_pk).first()
    if session is None:
        return None
    agent = Agent.objects.get(pk=session.agent_id)
    after, through = session.consolidated_through, _boundary(session, agent, trigger)
    if through is None or through <= after:
        return None
    entries = visible(session.pk, after, through).count()
    if not entries:
        return None
    material = _material(session, agent.consolidation_engine, newest(session), after, through)
    return Plan(session.pk, agent.pk, after, through, trigger, agent.consolidation_engine, entries, material)


def condensed(plan: Plan) -> Made:
    """Holds no database connection while a model thinks. Raises EngineFailed."""
    if plan.engine != EXTRACTIVE:
        release_connection()
    began = time.monotonic()
    digest = engine(plan.engine).condense(plan.material)
    return Made(digest, time.monotonic() - began)


def without_model(plan: Plan, why: str) -> Made:
    began = time.monotonic()
    digest = engine(EXTRACTIVE).condense(plan.material)
    return Made(digest, time.monotonic() - began, why[:500])


def insisted(plan: Plan) -> Made:
    """For whoever waits for it: a server that asks to be left alone is, for as long as one can wait."""
    failure = ""
    for failures in range(LLM_FAILURES):
        try:
            return condensed(plan)
        except EngineFailed as error:
            failure = str(error)
            if failures + 1 < LLM_FAILURES:
                wait(min(max(FIRST_PAUSE * 2**failures, error.again_after or 0), LONGEST_PAUSE))
    return without_model(plan, failure)


def store(plan: Plan, made: Made, now: datetime, by: str = "") -> Consolidation | None:
    """Progress moves together with the summary; None where the plan does not hold any more."""

    def work() -> Consolidation | None:
        if made.digest.remember or made.digest.forget:
            # The agent first, as whoever takes hold of both does it.
            Agent.objects.select_for_update(no_key=True).get(pk=plan.agent_id)
        session = Session.objects.select_for_update(no_key=True).filter(pk=plan.session_pk).first()
        if session is None or not _holds(plan, session):
            return None
        if plan.replaces is not None:
            Consolidation.objects.filter(pk=plan.replaces).update(
                discarded_at=now, discarded_by=f"redone by {by}"[:150]
            )
        return _stored(plan, made, session, now)

    return commit(work)


def _stored(plan: Plan, made: Made, session: Session, now: datetime) -> Consolidation:
    digest = made.digest
    session.summary, session.consolidated_through = digest.summary, plan.through
    Session.objects.filter(pk=session.pk).update(
        summary=session.summary,
        consolidated_through=plan.through,
        unconsolidated_tokens=tokens_left(session),
        consolidate_check_at=_look_again(plan, session, now),
    )
    if session.ended_at is not None:
        pass_on(session)
    return Consolidation.objects.create(
        agent_id=plan.agent_id,
        session=session,
        from_seq=plan.after + 1,
        through_seq=plan.through,
        trigger=plan.trigger,
        engine=digest.engine,
        model=digest.model,
        fell_back=made.fell_back,
        entries=plan.entries,
        tokens_before=plan.material.tokens,
        tokens_after=estimate(digest.summary),
        summary=digest.summary,
        points=stored(digest.points),
        memory=memory.note(plan.agent_id, digest.remember, digest.forget, now),
        seconds=round(made.seconds, 3),
        created_at=now,
    )


def _look_again(plan: Plan, session: Session, now: datetime) -> object:
    """By budget half of it stayed, which is condensed too when the session is idle. What came meanwhile has
    set a time already."""
    if session.ended_at is not None:
        return None
    return (
        Least(Coalesce("consolidate_check_at", now), now)
        if plan.trigger == BUDGET
        else F("consolidate_check_at")
    )


def _holds(plan: Plan, session: Session) -> bool:
    """Rows are hidden and never shown again: as many as were read are the same ones."""
    if visible(session.pk, plan.after, plan.through).count() != plan.entries:
        return False
    if plan.replaces is None:
        return session.consolidated_through == plan.after
    current = newest(session)
    return current is not None and current.pk == plan.replaces


def _boundary(session: Session, agent: Agent, trigger: str) -> int | None:
    """An ended session is condensed whole, whoever asked for it."""
    if session.ended_at is not None:
        return session.last_seq
    rows = said(session.pk, session.consolidated_through, session.last_seq)
    if trigger == BUDGET:
        return boundaries.by_budget(rows, agent.token_budget)
    return boundaries.before_newest_turn(rows)


def _material(
    session: Session, name: str, before: Consolidation | None, after: int, through: int
) -> Material:
    summary = "" if before is None else before.summary
    if before is None and after and session.consolidated_through == after:
        # A summary that no consolidation of ours stands behind.
        summary = session.summary
    tokens = visible(session.pk, after, through).aggregate(total=Sum("tokens"))["total"] or 0
    return Material(
        spoken(session.pk, after, through, slowly=name != EXTRACTIVE),
        tokens,
        through,
        loaded(before.points) if before is not None else from_text(summary, after),
        summary,
        "\n".join(filter(None, [session.carried, memory.text_of(session.agent_id)])),
    )
