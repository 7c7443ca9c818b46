"""A request that is sent twice acts once.

The key is stored in the transaction of the work itself, under a unique constraint. A repeat that comes while
the first still runs waits for it in the database; a first that failed leaves nothing behind.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet

from sessions_app.access import Caller
from sessions_app.models import IdempotentAnswer, Session
from sessions_app.problems import Conflict, invalid

KEPT = timedelta(hours=24)
KEY_LENGTH = 255


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    session: UUID | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What makes two requests the same one."""

    caller: int
    path: str
    key: str
    digest: str


def identify(caller: Caller, path: str, key: str, body: bytes) -> Request:
    if not 1 <= len(key) <= KEY_LENGTH or not key.isprintable():
        raise invalid(
            ["header", "Idempotency-Key"], f"It must be 1 to {KEY_LENGTH} printable characters.", "length"
        )
    # An operator's key acts for many agents: what it sent for one of them is no repeat for another.
    return Request(caller.key_id, f"{caller.agent_id}{path}", key, hashlib.sha256(body).hexdigest())


def once(request: Request, work: Callable[[], Answer], now: datetime) -> Answer:
    """Runs inside `commit`. Does the work, or gives the answer that the same request was given before."""
    while not _claim(request, now):
        # None when what stood in the way was erased before it could be read: then it is ours to do.
        if stored := _row(request).first():
            return _replay(stored, request)
    answer = work()
    if answer.status >= 300:
        raise AssertionError("A refusal is raised, so that its claim is rolled back with it.")
    _row(request).update(
        status=answer.status,
        answer=answer.body.decode(),
        session_id=_session_pk(answer.session),
    )
    return answer


def known(request: Request, now: datetime) -> Answer | None:
    """What it was answered before: for work that cannot be done inside a transaction."""
    stored = _row(request).filter(created_at__gte=now - KEPT).exclude(status=0).first()
    return None if stored is None else _replay(stored, request)


def forget(now: datetime) -> int:
    return IdempotentAnswer.objects.filter(created_at__lt=now - KEPT).delete()[0]


def _claim(request: Request, now: datetime) -> bool:
    _row(request).filter(created_at__lt=now - KEPT).delete()
    claim = IdempotentAnswer(
        caller=request.caller, path=request.path, key=request.key, digest=request.digest, created_at=now
    )
    # On PostgreSQL this waits for a claim that is not committed yet; on SQLite writers come one by one.
    IdempotentAnswer.objects.bulk_create([claim], ignore_conflicts=True)
    # Only this transaction can see a row without an answer: one that is committed has its status.
    return _row(request).filter(status=0).exists()


def _replay(stored: IdempotentAnswer, request: Request) -> Answer:
    if stored.digest != request.digest:
        raise invalid(
            ["header", "Idempotency-Key"], "This key came with another body before.", "idempotency_key_reused"
        )
    return Answer(stored.status, stored.answer.encode(), replayed=True)


def _session_pk(uid: UUID | None) -> int | None:
    if uid is None:
        return None
    # Locked, so that no erasure comes between and leaves an answer behind that tells of what is gone.
    pk = Session.objects.select_for_update(no_key=True).values_list("pk", flat=True).filter(uid=uid).first()
    if pk is None:
        raise Conflict("The session was erased while this ran. Send it again.")
    return pk


def _row(request: Request) -> QuerySet[IdempotentAnswer]:
    return IdempotentAnswer.objects.filter(caller=request.caller, path=request.path, key=request.key)
