"""Stores the demo: rows as the product itself would store them, in bulk."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from random import Random
from typing import TypeVar
from zoneinfo import ZoneInfo

import orjson
from django.db import transaction

from config.demo import insight, skills
from config.demo.scenes import NAMES, scene
from gateway_app import policies
from gateway_app.admin.acting import acting_for
from gateway_app.models import Delivery, DeliveryState, Identity, Lease, Person, Platform
from gateway_app.reset_outlook import outlook_of
from gateway_app.sources import Source, session_key
from sessions_app import activity
from sessions_app.entries import Entry, entry
from sessions_app.models import Agent, ConsolidationJob, HourlyActivity, Message, Session, StorageSample
from sessions_app.sessions import row_of

T = TypeVar("T")
BATCH = 2_000
DAYS = 30
STILL_TALKING = 0.45
UTC_ZONE = ZoneInfo("UTC")
# agent, its zone, where it talks to people
AGENTS = (
    ("main", "Europe/Lisbon", (("telegram", "dm"), ("local", "dm"), ("whatsapp", "dm"))),
    ("concierge", "Europe/Vienna", (("whatsapp", "dm"), ("telegram", "group"))),
    ("ops-bot", "UTC", (("slack", "channel"), ("discord", "group"), ("slack", "thread"))),
)
CHANNELS = ("#incidents", "#deploys", "Front desk", "Family", "#on-call", "Night shift")
# Further capabilities add their own: of a number, a seed and a time, each says how many it stored.
FURTHER: dict[str, Callable[[int, int, datetime], int]] = {"invocations": skills.invocations}


@dataclass(frozen=True, slots=True)
class Stored:
    sessions: int
    messages: int


class AlreadyThere(Exception):
    pass


def fill(sessions: int, messages: int, seed: int, now: datetime) -> Stored:
    if Session.objects.filter(metadata__demo=seed).exists():
        raise AlreadyThere
    random = Random(seed)  # noqa: S311 - it makes up stories
    agents = [_agent(name, zone) for name, zone, _ in AGENTS]
    _surroundings(agents, now)
    told = _episodes(agents, sessions, messages, seed=seed, random=random, now=now)
    # Rows come in the order of time, as they would have come by themselves.
    episodes = sorted(told, key=lambda episode: episode.session.created_at)
    made = 0
    for batch in _batches(episodes, 200):
        with transaction.atomic():
            made += _store(batch)
    _finish(agents, random, now)
    insight.tell(agents, seed, now)
    return Stored(len(episodes), made)


@dataclass(slots=True)
class Episode:
    session: Session
    entries: list[Entry]


def _agent(name: str, zone: str) -> Agent:
    return Agent.objects.get_or_create(name=name, defaults={"timezone": zone})[0]


def _episodes(
    agents: list[Agent], sessions: int, messages: int, *, seed: int, random: Random, now: datetime
) -> Iterator[Episode]:
    """Chains of sessions of one key: the newest is open, the older ones have ended for some reason."""
    left = messages
    weights = [random.paretovariate(1.4) for _ in range(sessions)]
    unit = messages / max(sum(weights), 1)
    index = 0
    while index < sessions:
        agent = random.choice(agents)
        source = _source(agent.name, random, index)
        length = min(random.choice((1, 2, 3, 5)), sessions - index)
        # Some talk today; others were last heard of a while ago.
        quiet = 0.0 if random.random() < STILL_TALKING else random.uniform(1, DAYS - 4)
        previous: Session | None = None
        for place in range(length):
            is_last = place == length - 1
            size = max(1, round(weights[index] * unit)) if index < sessions - 1 else max(1, left)
            size = min(size, max(1, left - (sessions - index - 1)))
            apart = (length - place - 1) * random.uniform(0.6, 1.6)
            episode = _episode(agent, source, size, seed=seed, random=random, now=now, ago=quiet + apart)
            _linked(episode.session, previous, random, ended=bool(quiet) or not is_last)
            left -= len(episode.entries)
            previous = episode.session
            index += 1
            yield episode


def _source(agent: str, random: Random, index: int) -> Source:
    platform, chat_type = random.choice({name: places for name, _, places in AGENTS}[agent])
    who = random.choice(NAMES)
    thread = f"{random.randint(1000, 9999)}" if chat_type == "thread" else None
    named = None if chat_type == "dm" else random.choice(CHANNELS)
    return Source(platform, f"{10_000 + index}", named, chat_type, f"{who.lower()}{index % 40}", who, thread)


def _episode(
    agent: Agent, source: Source, size: int, *, seed: int, random: Random, now: datetime, ago: float
) -> Episode:
    begun = now - timedelta(days=ago, minutes=random.expovariate(1 / 300) + 2)
    begun = max(begun, now - timedelta(days=DAYS))
    entries = list(islice(_entries(agent.name, random, begun, now, size), size))
    session = Session(
        uid=uuid.UUID(int=random.getrandbits(128), version=4),
        agent=agent, key=session_key(agent.name, source), platform=source.platform,
        chat_type=source.chat_type, source=source.as_json(), metadata={"demo": seed}, title=_title(entries),
        created_at=entries[0].created_at,
    )  # fmt: skip
    _count(session, entries, random)
    return Episode(session, entries)


def _entries(agent: str, random: Random, begun: datetime, now: datetime, size: int) -> Iterator[Entry]:
    # A long session is a busy one: all of it fits before now.
    pause = min(35.0, max(0.001, (now - begun).total_seconds() / max(size, 1) / 1.6))
    at = begun
    while True:
        for said in scene(random, agent):
            at = min(at + timedelta(seconds=random.expovariate(1 / pause)), now)
            yield entry({**said, "created_at": at.isoformat()}, now=now, zone=UTC_ZONE)


def _title(entries: list[Entry]) -> str:
    first = next((orjson.loads(found.body).get("content") for found in entries if found.role == "user"), None)
    return str(first or "")[:70]


def _count(session: Session, entries: list[Entry], random: Random) -> None:
    kinds = Counter(found.kind for found in entries)
    session.last_seq = len(entries)
    session.messages_count, session.tool_calls_count = kinds["message"], kinds["tool_call"]
    session.errors_count, session.decisions_count = kinds["error"], kinds["decision"]
    session.first_at, session.last_at = entries[0].created_at, entries[-1].created_at
    session.updated_at = session.last_at
    session.active_at = max((found.created_at for found in entries if found.role == "user"), default=None)
    session.output_tokens = sum(found.tokens for found in entries if found.role == "assistant")
    session.input_tokens = sum(found.tokens for found in entries) * random.randint(3, 9)
    session.cost_usd = round(session.input_tokens * 3e-6 + session.output_tokens * 15e-6, 4)


def _linked(session: Session, previous: Session | None, random: Random, *, ended: bool) -> None:
    if previous is not None:
        session.previous_id = previous.uid
        # Episodes of one key come one after the other.
        session.was_auto_reset = previous.end_reason in ("idle", "daily")
        session.reset_reason = previous.end_reason if session.was_auto_reset else ""
        session.reset_told = True
    if ended:
        session.end_reason = random.choices(("idle", "daily", "reset", "switched"), (50, 35, 12, 3))[0]
        session.ended_at = session.updated_at + timedelta(minutes=random.randint(1, 300))


def _store(episodes: list[Episode]) -> int:
    for episode in episodes:
        session = episode.session
        if session.ended_at is None:
            agent = session.agent
            session.reset_check_at = outlook_of(agent, session.updated_at).next_at(row_of(session))
    Session.objects.bulk_create([episode.session for episode in episodes], ignore_conflicts=False)
    rows = (
        Message(
            agent_id=episode.session.agent_id, session_id=episode.session.pk, seq=seq, kind=found.kind,
            role=found.role, body=found.body, extra=found.extra, plain=found.plain, tokens=found.tokens,
            created_at=found.created_at,
        )
        for episode in episodes
        for seq, found in enumerate(episode.entries, 1)
    )  # fmt: skip
    stored = 0
    for batch in _batches(rows, BATCH):
        Message.objects.bulk_create(batch)
        stored += len(batch)
    return stored


def _surroundings(agents: list[Agent], now: datetime) -> None:
    """Connections, people and policies, where an operator has not set any."""
    for agent, (_, _, places) in zip(agents, AGENTS, strict=True):
        for platform in {name for name, _ in places} - {"local"}:
            Platform.objects.get_or_create(
                agent=agent, platform=platform,
                defaults={"webhook_url": f"https://hooks.example.org/{agent.name}/{platform}",
                          "home_chat_id": "1", "home_name": "Home", "created_at": now,
                          "updated_at": now},
            )  # fmt: skip
        ada, made = Person.objects.get_or_create(agent=agent, name="Ada Byron")
        if made:
            for platform in ("telegram", "whatsapp"):
                Identity.objects.get_or_create(
                    agent=agent, platform=platform, user_id="ada", defaults={"person": ada}
                )
    given = {
        "platform": "slack",
        "chat_type": "",
        "mode": "idle",
        "idle_minutes": 480,
        "at_hour": 4,
        "timezone": "",
    }
    policies.put(acting_for(agents[-1], now), given)


def _finish(agents: list[Agent], random: Random, now: datetime) -> None:
    open_ones = list(Session.objects.filter(ended_at__isnull=True, agent__in=agents).order_by("-pk")[:200])
    _deliveries(open_ones, random, now)
    for session in open_ones[1:3]:
        until = now + timedelta(hours=6)
        Lease.objects.get_or_create(
            session=session, name="nightly-report", defaults={"renewed_at": now, "expires_at": until}
        )
        Session.objects.filter(pk=session.pk).update(leased_until=until)
    ConsolidationJob.objects.bulk_create(
        [ConsolidationJob(session=session, trigger="idle", created_at=now) for session in open_ones[3:9]],
        ignore_conflicts=True,
    )
    _hide(open_ones[:4])
    activity.run(now)
    activity.run(now)
    _sizes(now)


def _deliveries(sessions: list[Session], random: Random, now: datetime) -> None:
    states = random.choices(
        (DeliveryState.DELIVERED, DeliveryState.RETRYING, DeliveryState.DEAD),
        (80, 12, 8),
        k=min(40, len(sessions)),
    )
    rows = []
    for session, state in zip(sessions, states, strict=False):
        at = now - timedelta(minutes=random.randint(1, 2000))
        waits = state == DeliveryState.RETRYING
        rows.append(
            Delivery(
                agent_id=session.agent_id, session=session, target="origin", platform=session.platform,
                chat_id=(session.source or {}).get("chat_id") or "", state=state,
                content="Your daily summary is ready.",
                attempts={"delivered": 1, "retrying": 3, "dead": 8}[state], created_at=at,
                last_error="" if state == DeliveryState.DELIVERED else random.choice(
                    ("503 Service Unavailable", "timed out after 10 s", "connection refused")),
                delivered_at=at + timedelta(seconds=2) if state == DeliveryState.DELIVERED else None,
                next_attempt_at=now + timedelta(days=1) if waits else None,
            )
        )  # fmt: skip
    Delivery.objects.bulk_create(rows)


def _hide(sessions: Iterable[Session]) -> None:
    for session in sessions:
        if session.last_seq > 20:
            Message.objects.filter(session=session, seq__gt=session.last_seq - 3).update(hidden_by="rewind")


def _sizes(now: datetime) -> None:
    """Demo data grew in a second: so that there is a curve to see, the samples say otherwise."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    latest = StorageSample.objects.order_by("-hour").first()
    if latest is None or StorageSample.objects.count() > 2:
        return
    total = sum(HourlyActivity.objects.values_list("messages", flat=True)) or 1
    rows = []
    for day in range(DAYS, 0, -1):
        since = HourlyActivity.objects.filter(hour__lte=hour - timedelta(days=day))
        share = sum(since.values_list("messages", flat=True)) / total
        rows.append(
            StorageSample(hour=hour - timedelta(days=day), size=int(latest.size * (0.4 + 0.6 * share)))
        )
    StorageSample.objects.bulk_create(rows, ignore_conflicts=True)


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
