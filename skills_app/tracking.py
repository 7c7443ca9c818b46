"""Uses of skills as they happen: started, finished once, given up by time, or brought in later."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.conf import settings

from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.models import time_ordered_id
from sessions_app.objects import utc
from sessions_app.problems import Conflict, NotFound
from skills_app import rollups, vectors
from skills_app.models import SkillInvocation, State
from skills_app.rollup_rules import FACT_COLUMNS, Fact, fact_of
from skills_app.statements import locking, rows, sharing
from skills_app.vectors import Vector

BATCH = 500


class Use(NamedTuple):
    """A use of a skill as it is told; what was not told is empty."""

    skill_name: str
    invoked_at: datetime
    session_pk: int | None = None
    workflow_path: str = ""
    workflow_phase: str = ""
    user_query: str = ""
    alternatives: Sequence[str] = ()
    selection_rank: int | None = None
    state: str = State.RUNNING
    finished_at: datetime | None = None
    duration_us: int | None = None
    follow_up_actions: Sequence[str] = ()
    error_type: str = ""
    import_key: str | None = None


INSERT = """INSERT INTO skills_app_skillinvocation
(uid, agent_id, session_id, skill_name, workflow_path, workflow_phase, user_query, alternatives_considered,
 follow_up_actions, selection_rank, state, error_type, invoked_at, finished_at, duration_us, import_key)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (agent_id, import_key) WHERE import_key IS NOT NULL DO NOTHING RETURNING id"""

FIND = f"""SELECT id, {", ".join(FACT_COLUMNS)} FROM skills_app_skillinvocation
WHERE uid = %s AND agent_id = %s"""  # noqa: S608 - column names of our own

SESSION = "SELECT id FROM sessions_app_session WHERE id = %s"
SESSION_OF = """SELECT s.id FROM sessions_app_session s
JOIN skills_app_skillinvocation i ON i.session_id = s.id WHERE i.uid = %s AND i.agent_id = %s
FOR KEY SHARE OF s"""

FINISH = """UPDATE skills_app_skillinvocation SET state = %s, error_type = %s, follow_up_actions = %s,
finished_at = %s, duration_us = %s WHERE id = %s RETURNING id"""


def start(caller: Caller, use: Use, vector: Vector | None) -> UUID:
    """Runs inside `commit`. The vector is made before, while nobody waits for the database."""
    uid = time_ordered_id()
    _hold_all([use.session_pk])
    _insert(caller.agent_id, uid, use, vector)
    return uid


def _hold(sessions: Iterable[int | None]) -> bool:
    """Nobody erases them until the end of the transaction; whether they all are there. Sessions are locked
    before invocations and these before counts, by everyone: two that meet never wait in a circle."""
    found = [rows(SESSION + sharing(), [pk]) for pk in sorted({pk for pk in sessions if pk is not None})]
    return all(found)


def _hold_all(sessions: Iterable[int | None]) -> None:
    if not _hold(sessions):
        raise NotFound("There is no such session.")


def _insert(agent_id: int, uid: UUID, use: Use, vector: Vector | None) -> bool:
    made = rows(
        INSERT,
        [uid, agent_id, use.session_pk, use.skill_name, use.workflow_path, use.workflow_phase, use.user_query,
         _json(use.alternatives), _json(use.follow_up_actions), use.selection_rank, str(use.state),
         use.error_type, use.invoked_at, use.finished_at, use.duration_us, use.import_key],
    )  # fmt: skip
    if made and vector is not None:
        vectors.store(made[0][0], agent_id, use.session_pk, use.skill_name, vector)
    return bool(made)


def complete(
    caller: Caller,
    uid: UUID,
    *,
    completed: bool,
    follow_up_actions: Sequence[str],
    error_type: str,
    duration_us: int | None,
    now: datetime,
) -> None:
    """Runs inside `commit`. The server measures the duration unless it is told one."""
    if sharing():
        rows(SESSION_OF, [uid, caller.agent_id])
    found = rows(FIND + locking(), [uid, caller.agent_id])
    if not found:
        raise NotFound("There is no such invocation.")
    row = dict(zip(("id", *FACT_COLUMNS), found[0], strict=True))
    if row["state"] != State.RUNNING:
        raise Conflict(f"The invocation is finished already: {row['state']}.")
    invoked_at = utc(row["invoked_at"])
    duration = duration_us if duration_us is not None else microseconds(now - invoked_at)
    row |= {
        "state": str(State.COMPLETED if completed else State.FAILED),
        "error_type": error_type,
        "follow_up_actions": _json(follow_up_actions),
        "duration_us": duration,
        "invoked_at": invoked_at,
    }
    rows(FINISH, [row["state"], error_type, row["follow_up_actions"], now, duration, row["id"]])
    rollups.count([fact_of(row)])


def microseconds(span: timedelta) -> int:
    return max(0, span // timedelta(microseconds=1))


def abandon_step(now: datetime) -> int:
    """One batch of those that were never finished within the time limit; how many it was."""
    return commit(lambda: _abandon(now - timedelta(hours=settings.ABANDON_AFTER_HOURS), now))


def _abandon(limit: datetime, now: datetime) -> int:
    late = SkillInvocation.objects.filter(state=State.RUNNING, invoked_at__lt=limit).order_by("invoked_at")
    chosen = dict(late.values_list("pk", "session_id")[:BATCH])
    _hold(chosen.values())
    # Whoever finishes one of them right now has it: it is passed over.
    found = list(
        SkillInvocation.objects.filter(pk__in=chosen, state=State.RUNNING)
        .select_for_update(skip_locked=True, of=("self",))
        .values("pk", *FACT_COLUMNS)
    )
    pks = [row["pk"] for row in found]
    SkillInvocation.objects.filter(pk__in=pks).update(state=State.ABANDONED, finished_at=now)
    rollups.count([fact_of(row | {"state": str(State.ABANDONED)}) for row in found])
    return len(found)


def bring_in(caller: Caller, uses: Sequence[Use]) -> int:
    """Finished ones, all or none in one transaction; those that are here already add nothing. How many
    were new. Each needs an `import_key` (`import_key_of`)."""
    made = vectors.at_once([use.user_query for use in uses])

    # In one order, whoever brings them: those that two bring at once wait for each other one way.
    ordered = sorted(
        zip(uses, made, strict=True), key=lambda pair: (pair[0].invoked_at, pair[0].import_key or "")
    )

    def work() -> int:
        _hold_all(use.session_pk for use in uses)
        facts = [
            _fact(caller.agent_id, use)
            for use, vector in ordered
            if _insert(caller.agent_id, time_ordered_id(), use, vector)
        ]
        rollups.count(facts)
        return len(facts)

    return commit(work)


def restore(caller: Caller, uid: UUID, use: Use) -> None:
    """Runs inside `commit`. One out of an archive, with the id that it had, where nobody has it."""
    if SkillInvocation.objects.filter(uid=uid).exists():
        uid = time_ordered_id()
    _hold_all([use.session_pk])
    if (
        _insert(caller.agent_id, uid, use, vectors.at_once([use.user_query])[0])
        and use.state != State.RUNNING
    ):
        rollups.count([_fact(caller.agent_id, use)])


def import_key_of(skill_name: str, invoked_at: datetime, session: str) -> str:
    """The same skill at the same moment of the same session is the same use."""
    parts = orjson.dumps([skill_name, utc(invoked_at).isoformat(), session])
    return hashlib.sha256(parts).hexdigest()


def _fact(agent_id: int, use: Use) -> Fact:
    return Fact(
        agent_id, use.session_pk, use.skill_name, use.workflow_phase, use.workflow_path, str(use.state),
        use.error_type, use.duration_us, use.selection_rank, use.invoked_at, use.follow_up_actions,
        use.alternatives,
    )  # fmt: skip


def _json(values: Sequence[Any]) -> str:
    return orjson.dumps(list(values)).decode()
