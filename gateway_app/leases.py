"""Leases: an agent's running work says that its session is in use, again and again, until it is done."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Max, QuerySet

from gateway_app.models import Lease
from gateway_app.reset_outlook import check_at
from sessions_app import paging
from sessions_app.access import Caller, Resets
from sessions_app.commits import commit
from sessions_app.models import Session
from sessions_app.objects import iso
from sessions_app.problems import Conflict, invalid
from sessions_app.sessions import find

NAME_LENGTH = 240
LONGEST_SECONDS = 86_400


def hold(caller: Caller, uid: UUID, name: str, ttl_seconds: int, now: datetime) -> Lease:
    """Start a lease, or renew it from now on."""
    if not 1 <= len(name) <= NAME_LENGTH:
        raise invalid(["path", "name"], f"It must be 1 to {NAME_LENGTH} characters.", "length")

    def work() -> Lease:
        session = find(caller, uid, lock=True)
        if session.ended_at is not None:
            raise Conflict("The session has ended: there is nothing left to hold.")
        expires_at = now + timedelta(seconds=ttl_seconds)
        lease, _ = Lease.objects.update_or_create(
            session=session,
            name=name,
            defaults={"renewed_at": now, "expires_at": expires_at},
            create_defaults={"created_at": now, "renewed_at": now, "expires_at": expires_at},
        )
        note(caller.resets, session, now)
        return lease

    return commit(work)


def release(caller: Caller, uid: UUID, name: str, now: datetime) -> None:
    def work() -> None:
        session = find(caller, uid, lock=True)
        # One that has run out may be gone already: either way it is over.
        Lease.objects.filter(session=session, name=name).delete()
        note(caller.resets, session, now)

    commit(work)


def note(resets: Resets, session: Session, now: datetime) -> None:
    """Runs inside `commit`, on a locked session: its row tells of its leases and when to look at it."""
    if session.ended_at is not None:
        return
    session.leased_until = live(session, now).aggregate(until=Max("expires_at"))["until"]
    session.reset_check_at = check_at(resets, session)
    session.save(update_fields=["leased_until", "reset_check_at"])


def live(session: Session, now: datetime) -> QuerySet[Lease]:
    return Lease.objects.filter(session=session, expires_at__gt=now)


def listed(caller: Caller, uid: UUID, now: datetime, cursor: str | None, limit: int) -> paging.Page:
    found = live(find(caller, uid), now)
    if cursor is not None:
        found = found.filter(pk__gt=paging.decode(cursor, paging.seq)[0])
    return paging.page(
        list(found.order_by("pk")[: limit + 1]),
        limit,
        lambda rows: [shown(lease) for lease in rows],
        lambda lease: paging.encode(lease.pk),
    )


def shown(lease: Lease) -> dict[str, Any]:
    return {
        "name": lease.name,
        "created_at": iso(lease.created_at),
        "renewed_at": iso(lease.renewed_at),
        "expires_at": iso(lease.expires_at),
    }
