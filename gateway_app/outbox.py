"""The outbox: what is to be delivered is first a row, and a row tells what became of it."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from gateway_app import targets
from gateway_app.models import Delivery, DeliveryState, Platform
from gateway_app.targets import LOCAL, ORIGIN, BadTarget, Target
from sessions_app import paging
from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.courier import Courier
from sessions_app.models import Session
from sessions_app.objects import iso, uid_text
from sessions_app.problems import Conflict, Invalid, NotFound, invalid
from sessions_app.sessions import find, parse_uid

CONTENT_BYTES = 1024 * 1024
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
GIVEN_UP = "An operator gave it up."
courier = Courier("gateway_app.tasks.deliver_due")
WAITING = (DeliveryState.QUEUED, DeliveryState.SENDING, DeliveryState.RETRYING)
COLUMNS = (
    "uid",
    "target",
    "platform",
    "chat_id",
    "thread_id",
    "session__uid",
    "state",
    "attempts",
    "last_error",
    "next_attempt_at",
    "created_at",
    "delivered_at",
)

Row = Mapping[str, Any]


def of(caller: Caller) -> QuerySet[Delivery]:
    return Delivery.objects.filter(agent_id=caller.agent_id)


def queue(caller: Caller, target: str, content: str, session: Session | None, now: datetime) -> Delivery:
    """Runs inside `commit`. Whatever cannot arrive is refused here, while somebody listens."""
    check_content(content)
    place = placed(caller.agent_id, target, session)
    delivery = Delivery.objects.create(
        agent_id=caller.agent_id,
        session=session,
        target=target,
        platform=place.platform,
        chat_id=place.chat_id,
        thread_id=place.thread_id,
        content=content,
        next_attempt_at=now,
        created_at=now,
    )
    transaction.on_commit(courier.call)
    return delivery


def check_content(content: str) -> None:
    if not content.strip():
        raise invalid(["body", "content"], "There is nothing to deliver.", "empty")
    if len(content.encode()) > CONTENT_BYTES:
        raise invalid(["body", "content"], f"It may be at most {CONTENT_BYTES} bytes.", "too_long")


def placed(agent_id: int, text: str, session: Session | None) -> Target:
    """The chat that a target means now, on a platform that is connected now."""
    try:
        target = targets.parse(text)
    except BadTarget as error:
        raise _refused(str(error)) from None
    if target.platform == ORIGIN:
        target = _origin(session)
    if target.platform == LOCAL:
        return Target(LOCAL)
    connection = Platform.objects.filter(agent_id=agent_id, platform=target.platform).first()
    if connection is None or not connection.enabled or not connection.webhook_url:
        raise _refused(f"The platform {target.platform} is not connected.")
    if target.chat_id:
        return target
    if not connection.home_chat_id:
        raise _refused(f"The platform {target.platform} has no home channel; name a chat.")
    return Target(target.platform, connection.home_chat_id, connection.home_thread_id)


def _origin(session: Session | None) -> Target:
    """Without a source it is a session at this machine. A reply never goes to a home channel instead."""
    if session is None:
        raise _refused("The target origin needs a session_id.")
    source = session.source
    if not source or source["platform"] == LOCAL:
        return Target(LOCAL)
    chat = source.get("chat_id") or source.get("user_id")
    if not chat:
        raise _refused("The session's source names no chat.")
    return Target(source["platform"], chat, source.get("thread_id") or "")


def _refused(message: str) -> Invalid:
    return invalid(["body", "target"], message, "target")


def listed(
    caller: Caller,
    *,
    state: str | None,
    platform: str | None,
    session: str | None,
    cursor: str | None,
    limit: int,
) -> paging.Page:
    """Newest first."""
    found = of(caller)
    if state is not None:
        found = found.filter(state=state)
    if platform is not None:
        found = found.filter(platform=platform)
    if session is not None:
        found = found.filter(session=find(caller, parse_uid(session)))
    if cursor is not None:
        created_at, uid = paging.decode(cursor, paging.moment, paging.uid)
        found = found.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, uid__lt=uid))
    rows = list(found.order_by("-created_at", "-uid").values(*COLUMNS)[: limit + 1])
    return paging.page(
        rows,
        limit,
        lambda rows: [shown(row) for row in rows],
        lambda row: paging.encode(iso(row["created_at"]) or "", uid_text(row["uid"]) or ""),
    )


def one(caller: Caller, delivery_id: str) -> dict[str, Any]:
    row = of(caller).filter(uid=_uid(delivery_id)).values(*COLUMNS).first()
    if row is None:
        raise NotFound("There is no such delivery.")
    return shown(row)


def retry_one(caller: Caller, delivery_id: str, now: datetime) -> dict[str, Any]:
    """Runs inside `commit`."""
    row = one(caller, delivery_id)
    if not retry(of(caller).filter(uid=_uid(delivery_id)), now):
        raise Conflict(f"Only a dead delivery is sent again; this one is {row['state']}.")
    return one(caller, delivery_id)


def retry(deliveries: QuerySet[Delivery], now: datetime) -> int:
    """Those of them that are dead are queued anew, with all of their attempts."""

    def work() -> int:
        moved = deliveries.filter(state=DeliveryState.DEAD).update(
            state=DeliveryState.QUEUED, attempts=0, next_attempt_at=now
        )
        if moved:
            transaction.on_commit(courier.call)
        return moved

    return commit(work)


def give_up(deliveries: QuerySet[Delivery]) -> int:
    """Those that are not done are dead. One that is being sent may still arrive, and stays dead here."""
    return commit(
        lambda: deliveries.filter(state__in=WAITING).update(
            state=DeliveryState.DEAD, next_attempt_at=None, last_error=GIVEN_UP
        )
    )


def shown(row: Row) -> dict[str, Any]:
    return {
        "id": uid_text(row["uid"]),
        "target": row["target"],
        "platform": row["platform"],
        "chat_id": row["chat_id"] or None,
        "thread_id": row["thread_id"] or None,
        "session_id": uid_text(row["session__uid"]),
        "state": row["state"],
        "attempts": row["attempts"],
        "last_error": row["last_error"] or None,
        "next_attempt_at": iso(row["next_attempt_at"]),
        "created_at": iso(row["created_at"]),
        "delivered_at": iso(row["delivered_at"]),
    }


def _uid(text: str) -> UUID:
    if not UID.match(text):
        raise NotFound("There is no such delivery.")
    return UUID(text)
