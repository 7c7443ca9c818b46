"""The console over a large record: what it is filled with, which pages are asked for, by how many queries.

`python -m bench.browsing fill MESSAGES` stores them in a session for each fifty, one of them long, with
deliveries beside them; `… pages` logs an operator in and prints the cookie, and for each page its address and
the number of its queries, as JSON."""

import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

import django

from bench.haystack import texts

SPREAD = 50
LONG = 50
DAYS = 30
PLATFORMS = ("telegram", "whatsapp", "slack", "discord")
ENDED = ("idle", "daily", "reset", "switched")
# One entry in so many is an error, one session in three is open, one delivery in so many is dead.
ERRORS, OPEN, DEAD = 200, 3, 20
SESSIONS = "/admin/sessions_app/session/"


def sizes(messages: int) -> list[int]:
    """Of the sessions, the long one first: so many messages in all, fifty to a session."""
    sessions = max(messages // SPREAD, 1)
    long = min(sessions, messages // 2)
    rest = messages - long
    share, more = divmod(rest, sessions)
    return [long, *(share + (number < more) for number in range(sessions))]


def main(step: str, *arguments: str) -> None:
    steps: dict[str, Callable[..., None]] = {"fill": _fill, "pages": _pages}
    steps[step](*map(int, arguments))


def _fill(messages: int) -> None:
    from bench.fill import _store_messages

    now = datetime.now(UTC)
    sessions = list(_sessions(sizes(messages), now))
    _store_messages(_rows(sessions))
    _store_deliveries(sessions, now)
    _count(now)


def _sessions(lengths: list[int], now: datetime) -> Iterator[Any]:
    from sessions_app.models import Agent, Session

    agent = Agent.objects.get(name="main")
    made = []
    for number, length in enumerate(lengths):
        begun = now - timedelta(days=DAYS) + timedelta(days=DAYS) * number / (len(lengths) + 1)
        ended = number % OPEN != 0
        platform = PLATFORMS[number % len(PLATFORMS)]
        errors = sum(1 for seq in range(1, length + 1) if _is_error(number, seq))
        made.append(Session(
            agent=agent, key=f"agent:main:{platform}:dm:{number}", platform=platform, chat_type="dm",
            title=f"Conversation {number}",
            source={"platform": platform, "user_name": f"Person {number % 997}"},
            created_at=begun, updated_at=begun + timedelta(seconds=length), active_at=begun,
            ended_at=begun + timedelta(hours=5) if ended else None,
            end_reason=ENDED[number % len(ENDED)] if ended else "",
            last_seq=length, messages_count=length - errors, errors_count=errors,
            first_at=begun, last_at=begun + timedelta(seconds=length),
        ))  # fmt: skip
    yield from Session.objects.bulk_create(made, batch_size=500)


def _is_error(session: int, seq: int) -> bool:
    return (session * SPREAD + seq) % ERRORS == 0


def _rows(sessions: list[Any]) -> Iterator[tuple[Any, ...]]:
    from sessions_app.entries import entry

    said, zone = texts(sum(session.last_seq for session in sessions)), ZoneInfo("UTC")
    for number, session in enumerate(sessions):
        for seq in range(1, session.last_seq + 1):
            at, text = session.created_at + timedelta(seconds=seq), next(said)
            given = (
                {"kind": "error", "error": text}
                if _is_error(number, seq)
                else {"role": ("assistant", "user")[seq % 2], "content": text}
            )
            made = entry(given, now=at, zone=zone)
            yield (session.agent_id, session.id, seq, *made[:6], at, "")


def _store_deliveries(sessions: list[Any], now: datetime) -> None:
    from gateway_app.models import Delivery, DeliveryState

    rows = (
        Delivery(
            agent_id=session.agent_id, session=session, target="origin", platform=session.platform,
            chat_id=str(number), content="Your daily summary is ready.", attempts=1,
            state=DeliveryState.DELIVERED if number % DEAD else DeliveryState.DEAD,
            delivered_at=now if number % DEAD else None,
        )
        for number, session in enumerate(sessions)
    )  # fmt: skip
    Delivery.objects.bulk_create(rows, batch_size=500)


def _count(now: datetime) -> None:
    """What the scheduler's tasks would have done by and by."""
    from sessions_app import activity
    from sessions_app.search import indexing

    for _ in range(2):
        activity.run(now)
    while indexing.step(now):
        pass


def addresses() -> dict[str, str]:
    from sessions_app.models import Session

    longest = Session.objects.order_by("-last_seq").values_list("pk", flat=True)[0]
    middle = Session.objects.get(pk=longest).last_seq // 2
    page, search = f"{SESSIONS}{longest}/change/", "/admin/find/?q="
    return {
        "first page": "/admin/",
        "first page, 30 days": "/admin/?period=30d",
        "list of sessions": SESSIONS,
        "list, open and with errors": f"{SESSIONS}?open=yes&errors=yes",
        "list, ended by idleness, of a platform": f"{SESSIONS}?reason=idle&platform=slack",
        "list, part of a name": f"{SESSIONS}?q=Person+99",
        "list, words that were said": f"{SESSIONS}?q=obsidian",
        "a session, its newest entries": page,
        "a session, in its middle": f"{page}?seq={middle}",
        "search, a word in 85 of 100": f"{search}zenith",
        "search, a rare word": f"{search}obsidian",
        "search, by rank": f"{search}quorum&sort=rank",
        "search, part of a word": f"{search}bsidia&mode=substring",
        "search, nothing there": f"{search}nothingofthekind",
        "messages": "/admin/sessions_app/message/",
        "deliveries": "/admin/gateway_app/delivery/",
        "deliveries, dead": "/admin/gateway_app/delivery/?state__exact=dead",
        "skills": "/admin/skills/",
    }


def _pages() -> None:
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client

    user, _ = User.objects.get_or_create(username="bench", defaults={"is_staff": True, "is_superuser": True})
    client = Client(headers={"host": settings.ALLOWED_HOSTS[0]})
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    told = {page: [address, _queries(client, address)] for page, address in addresses().items()}
    json.dump({"cookie": f"{name}={client.cookies[name].value}", "pages": told}, sys.stdout)


def _queries(client: Any, address: str) -> int:
    """Of the second look: the first one fills what is remembered, such as the types of contents."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    for turn in count():
        with CaptureQueriesContext(connection) as caught:
            answer = client.get(address)
        if answer.status_code != 200:
            raise SystemExit(f"{address} was answered {answer.status_code}")
        if turn:
            return len(caught)
    raise AssertionError


if __name__ == "__main__":
    django.setup()
    main(*sys.argv[1:])
