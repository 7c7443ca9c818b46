"""Sessions that wait to be condensed, and what became of it: rows first, whoever does the work later."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet, Sum

from sessions_app import paging
from sessions_app.access import Caller
from sessions_app.courier import Courier
from sessions_app.models import Consolidation, ConsolidationJob, Message, Session
from sessions_app.objects import iso, message_id, uid_text
from sessions_app.problems import Conflict, NotFound
from sessions_app.sessions import UID, find
from sessions_app.triggers import ASKED, RESET

ON_RESET = RESET
courier = Courier("sessions_app.tasks.consolidate_due")
QUEUED, RUNNING, RETRYING, DONE, NOTHING = "queued", "running", "retrying", "done", "nothing"


def queue(session_pks: Sequence[int], trigger: str, now: datetime) -> int:
    """Runs inside `commit`. Only where something is left to condense; who waits already keeps its place."""
    waiting = Session.objects.filter(pk__in=session_pks, last_seq__gt=F("consolidated_through"))
    jobs = [
        ConsolidationJob(session_id=pk, trigger=trigger, created_at=now, next_attempt_at=now)
        for pk in waiting.values_list("pk", flat=True)
    ]
    ConsolidationJob.objects.bulk_create(
        jobs, update_conflicts=True, unique_fields=["session"], update_fields=["trigger"]
    )
    return len(jobs)


def unqueue(session_pk: int, trigger: str) -> None:
    ConsolidationJob.objects.filter(session_id=session_pk, trigger=trigger).delete()


def ask(session: Session, now: datetime) -> dict[str, Any]:
    """Runs inside `commit`. Whoever asks does not wait for a pause that failures have made."""
    queue([session.pk], ASKED, now)
    ConsolidationJob.objects.filter(session=session, running=False).update(next_attempt_at=now)
    transaction.on_commit(courier.call)
    return {"state": NOTHING, "consolidation": None, **(job_of(session) or _no_job())}


def job_of(session: Session) -> dict[str, Any] | None:
    job = ConsolidationJob.objects.filter(session=session).first()
    if job is None:
        return None
    return {
        "state": RUNNING if job.running else RETRYING if job.attempts else QUEUED,
        "trigger": job.trigger,
        "queued_at": iso(job.created_at),
        "attempts": job.attempts,
        "last_error": job.last_error or None,
        "next_attempt_at": iso(job.next_attempt_at),
    }


def done(made: Consolidation | None, session_id: str) -> dict[str, Any]:
    """The answer to whoever waited for it."""
    state = NOTHING if made is None else DONE
    return {**_no_job(), "state": state, "consolidation": None if made is None else shown(made, session_id)}


def _no_job() -> dict[str, Any]:
    names = ("trigger", "queued_at", "last_error", "next_attempt_at")
    return {"attempts": 0, **dict.fromkeys(names)}


def of(session: Session) -> QuerySet[Consolidation]:
    """The only door to consolidations: the session was found by its agent."""
    return Consolidation.objects.filter(session_id=session.pk).select_related("memory")


def newest(session: Session) -> Consolidation | None:
    """That on which the session's summary rests."""
    return (
        of(session)
        .filter(discarded_at__isnull=True, through_seq=session.consolidated_through)
        .order_by("-pk")
        .first()
    )


def listed(
    session: Session, *, seq: int | None, include_discarded: bool, cursor: str | None, limit: int
) -> dict[str, Any]:
    """Newest first; with `seq`, the one that covers that entry."""
    found = of(session)
    if not include_discarded:
        found = found.filter(discarded_at__isnull=True)
    if seq is not None:
        found = found.filter(from_seq__lte=seq, through_seq__gte=seq)
    if cursor is not None:
        # By the id, which grows with time and tells no counts.
        (uid,) = paging.decode(cursor, paging.uid)
        found = found.filter(uid__lt=uid)
    rows = list(found.order_by("-uid")[: limit + 1])
    session_id = uid_text(session.uid) or ""
    page = paging.page(
        rows,
        limit,
        lambda rows: [shown(row, session_id) for row in rows],
        lambda row: paging.encode(uid_text(row.uid) or ""),
    )
    return {**page, "job": job_of(session)}


def one(caller: Caller, session_uid: UUID, text: str) -> tuple[Session, Consolidation]:
    session = find(caller, session_uid)
    found = of(session).filter(uid=UUID(text)).first() if UID.match(text) else None
    if found is None:
        raise NotFound("There is no such consolidation.")
    return session, found


def covering(session_pk: int, seq: int) -> str | None:
    """The id of the consolidation that covers an entry."""
    found = Consolidation.objects.filter(
        session_id=session_pk, from_seq__lte=seq, through_seq__gte=seq, discarded_at__isnull=True
    )
    return uid_text(found.order_by("through_seq").values_list("uid", flat=True).first())


def discard(caller: Caller, session_uid: UUID, text: str, *, by: str, now: datetime) -> Consolidation:
    """Runs inside `commit`. The newest alone: what stands on it would tell of what is not there."""
    found = one(caller, session_uid, text)[1]
    session = find(caller, session_uid, lock=True)
    check_newest(session, found)
    fall_back(session, found.from_seq, by, now)
    session.unconsolidated_tokens = tokens_left(session)
    session.consolidate_check_at = None
    session.save(
        update_fields=["summary", "consolidated_through", "unconsolidated_tokens", "consolidate_check_at"]
    )
    return one(caller, session_uid, text)[1]


def check_newest(session: Session, found: Consolidation) -> None:
    current = newest(session)
    if current is None or current.pk != found.pk:
        raise Conflict("Only the newest consolidation of a session can be redone or discarded.")


def fall_back(session: Session, seq: int, by: str, now: datetime) -> None:
    """Runs inside `commit`, on a locked session: to the newest summary of nothing from `seq` on."""
    live = Consolidation.objects.filter(session_id=session.pk, discarded_at__isnull=True)
    live.filter(through_seq__gte=seq).update(discarded_at=now, discarded_by=by)
    last = live.order_by("-through_seq").first()
    session.consolidated_through = 0 if last is None else last.through_seq
    session.summary = "" if last is None else last.summary


def tokens_left(session: Session) -> int:
    """Of what the window shows and no summary covers."""
    left = Message.objects.filter(
        session_id=session.pk, kind="message", hidden_by="", seq__gt=session.consolidated_through
    )
    return left.aggregate(total=Sum("tokens"))["total"] or 0


def shown(found: Consolidation, session_id: str) -> dict[str, Any]:
    return {
        "id": uid_text(found.uid),
        "session_id": session_id,
        "from_seq": found.from_seq,
        "through_seq": found.through_seq,
        "trigger": found.trigger,
        "engine": found.engine,
        "model": found.model or None,
        "fell_back": found.fell_back or None,
        "entries": found.entries,
        "tokens_before": found.tokens_before,
        "tokens_after": found.tokens_after,
        "summary": found.summary,
        "points": [_point(point, session_id) for point in found.points],
        "memory_version": None if found.memory is None else found.memory.version,
        "seconds": found.seconds,
        "created_at": iso(found.created_at),
        "discarded_at": iso(found.discarded_at),
        "discarded_by": found.discarded_by or None,
    }


def _point(point: dict[str, Any], session_id: str) -> dict[str, Any]:
    return {
        "message_id": message_id(session_id, point["seq"]),
        "seq": point["seq"],
        "label": point["label"] or None,
        "text": point["text"],
    }
