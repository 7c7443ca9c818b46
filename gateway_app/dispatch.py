"""Sends what is due in the outbox. Rows are claimed and settled in short transactions; between them, while
something is being sent, no database connection is held.

A claim ends by itself: whoever made it may have been killed. What it was about is then sent again, with the
same id, and a result that comes later than that changes nothing.
"""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import orjson
import structlog
from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count, Q, QuerySet

from gateway_app import local_files, retries, webhooks
from gateway_app.models import Delivery, DeliveryState, Platform
from gateway_app.retries import Verdict
from gateway_app.targets import LOCAL
from gateway_app.webhooks import Outcome
from sessions_app.commits import commit
from sessions_app.live import release_connection
from sessions_app.objects import iso, uid_text

AT_ONCE = 16
# So that a platform that hangs leaves most places to the others.
AT_ONCE_PER_PLATFORM = 4
# Time to settle a claim after the last moment at which its attempt can end.
SETTLING = timedelta(seconds=30)
LOOK_AGAIN_SECONDS = 0.5
LOST = "The process that sent it was lost; whether it arrived is not known."
GONE = "The platform is not connected any more."

log = structlog.get_logger(__name__)

Place = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Claim:
    delivery: Delivery
    until: datetime
    connection: Platform | None


def deliver_due(
    clock: Callable[[], datetime],
    *,
    attempt: Callable[[Claim], Outcome] | None = None,
    chance: Callable[[], float] = random.random,
    stopping: threading.Event | None = None,
) -> int:
    """Until nothing is due and nothing under way; answers how many attempts were made."""
    send, made = attempt or attempted, 0
    under_way: dict[Future[Outcome], Claim] = {}
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="delivery") as pool:
        while True:
            if stopping is None or not stopping.is_set():
                for taken in _claimed(clock(), AT_ONCE - len(under_way), waiting=bool(under_way)):
                    under_way[pool.submit(_guarded, send, taken)] = taken
                    made += 1
            if not under_way:
                return made
            release_connection()
            done, _ = wait(under_way, timeout=LOOK_AGAIN_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                _settled(under_way.pop(future), future.result(), clock(), chance)


def claim(now: datetime, limit: int) -> list[Claim]:
    """Each look claims rows, or finds a platform full and looks past it: it comes to an end."""
    claims: list[Claim] = []
    full: set[Place] = set()
    while len(claims) < limit and _due(now, full).exists():
        # A transaction for each look: one that went on to lock more platforms could meet another halfway.
        taken, found_full = commit(partial(_claim, now, limit - len(claims), frozenset(full)))
        claims += taken
        full |= found_full
    return claims


def settle(taken: Claim, outcome: Outcome, now: datetime, chance: Callable[[], float]) -> bool:
    """Whether the claim still stood."""
    changes = _changes(taken.delivery.attempts, outcome, now, chance)
    return commit(lambda: bool(_still(taken.delivery, taken.until).update(**changes)))


def attempted(taken: Claim) -> Outcome:
    """Touches no database."""
    delivery, connection = taken.delivery, taken.connection
    if delivery.platform == LOCAL:
        return local_files.write(settings.DATA_DIR / "deliveries", delivery)
    if connection is None or not connection.enabled or not connection.webhook_url:
        return Outcome(Verdict.NEVER, GONE)
    post = webhooks.Post(
        connection.webhook_url, connection.webhook_secret, str(delivery.uid), orjson.dumps(_body(delivery))
    )
    manner = webhooks.Manner(
        seconds=settings.WEBHOOK_TIMEOUT_SECONDS, allow_private=settings.WEBHOOK_ALLOW_PRIVATE
    )
    return webhooks.send(post, manner)


def _due(now: datetime, passed: Iterable[Place]) -> QuerySet[Delivery]:
    return Delivery.objects.filter(next_attempt_at__lte=now).exclude(_at(passed))


def _claim(now: datetime, limit: int, passed: frozenset[Place]) -> tuple[list[Claim], set[Place]]:
    """Claims, and platforms that have no place left."""
    claims: list[Claim] = []
    full: set[Place] = set()
    until = now + timedelta(seconds=settings.WEBHOOK_TIMEOUT_SECONDS) + SETTLING
    due = list(_due(now, passed).select_related("session").order_by("next_attempt_at", "pk")[:limit])
    places = {(delivery.agent_id, delivery.platform) for delivery in due}
    connections = _locked(places)
    under_way = _under_way(places, now)
    for delivery in due:
        place = delivery.agent_id, delivery.platform
        if under_way[place] >= AT_ONCE_PER_PLATFORM:
            full.add(place)
        elif _take(delivery, until):
            under_way[place] += 1
            claims.append(Claim(delivery, until, connections.get(place)))
    return claims, full


def _locked(places: set[Place]) -> dict[Place, Platform]:
    """Locked, so that two dispatchers do not count the same places as free; in one order, so that none wait
    for each other."""
    rows = Platform.objects.select_for_update(no_key=True).filter(_at(places)).order_by("pk")
    return {(row.agent_id, row.platform): row for row in rows}


def _under_way(places: set[Place], now: datetime) -> Counter[Place]:
    rows = Delivery.objects.filter(_at(places), state=DeliveryState.SENDING, next_attempt_at__gt=now)
    counts = rows.order_by().values_list("agent_id", "platform").annotate(Count("pk"))
    return Counter({(agent_id, platform): count for agent_id, platform, count in counts})


def _at(places: Iterable[Place]) -> Q:
    found = Q(pk__in=[])
    for agent_id, platform in sorted(places):
        found |= Q(agent_id=agent_id, platform=platform)
    return found


def _take(delivery: Delivery, until: datetime) -> bool:
    """By a conditional update: somebody else may have taken it since it was read."""
    row = _still(delivery, delivery.next_attempt_at)
    if delivery.state == DeliveryState.SENDING and delivery.attempts >= settings.DELIVERY_ATTEMPTS:
        row.update(state=DeliveryState.DEAD, next_attempt_at=None, last_error=LOST)
        return False
    attempts = delivery.attempts + 1
    if not row.update(state=DeliveryState.SENDING, attempts=attempts, next_attempt_at=until):
        return False
    delivery.state, delivery.attempts, delivery.next_attempt_at = DeliveryState.SENDING, attempts, until
    return True


def _still(delivery: Delivery, next_attempt_at: datetime | None) -> QuerySet[Delivery]:
    return Delivery.objects.filter(
        pk=delivery.pk, state=delivery.state, attempts=delivery.attempts, next_attempt_at=next_attempt_at
    )


def _changes(attempts: int, outcome: Outcome, now: datetime, chance: Callable[[], float]) -> dict[str, Any]:
    if outcome.verdict is Verdict.DELIVERED:
        return {
            "state": DeliveryState.DELIVERED,
            "delivered_at": now,
            "next_attempt_at": None,
            "last_error": "",
        }
    error = outcome.error[:500]
    if outcome.verdict is Verdict.NEVER or attempts >= settings.DELIVERY_ATTEMPTS:
        return {"state": DeliveryState.DEAD, "next_attempt_at": None, "last_error": error}
    again = retries.next_attempt(attempts, outcome.retry_after, now, chance)
    return {"state": DeliveryState.RETRYING, "next_attempt_at": again, "last_error": error}


def _claimed(now: datetime, limit: int, *, waiting: bool) -> list[Claim]:
    """A database that fails must not lose the results of what is under way."""
    try:
        return claim(now, limit)
    except DatabaseError:
        if not waiting:
            raise
        log.exception("no deliveries could be claimed")
        return []


def _settled(taken: Claim, outcome: Outcome, now: datetime, chance: Callable[[], float]) -> None:
    try:
        settle(taken, outcome, now, chance)
    except DatabaseError:
        # Its claim runs out, and it is sent again with the same id.
        log.exception("a delivery could not be settled", delivery=str(taken.delivery.uid))


def _guarded(send: Callable[[Claim], Outcome], taken: Claim) -> Outcome:
    try:
        return send(taken)
    except Exception as error:
        # A mistake of ours with one delivery must not end the round for all others.
        log.exception("a delivery failed on our side", delivery=str(taken.delivery.uid))
        return Outcome(Verdict.AGAIN, f"It failed on our side ({type(error).__name__}).")


def _body(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": str(delivery.uid),
        "platform": delivery.platform,
        "chat_id": delivery.chat_id,
        "thread_id": delivery.thread_id or None,
        "content": delivery.content,
        "session_id": None if delivery.session is None else uid_text(delivery.session.uid),
        "created_at": iso(delivery.created_at),
    }
