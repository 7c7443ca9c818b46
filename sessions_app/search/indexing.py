"""Feeding the index: in batches, by one process at a time, while appends and searches go on.

What is pending is told by the sessions themselves: seqs behind `searched_through`. A batch becomes a segment,
and the marks move in the transaction that makes it visible; a crash before it leaves the messages pending.
Small segments are merged into larger ones, so that a search looks at few.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, NamedTuple

import structlog
from django.db import transaction

from sessions_app.commits import commit
from sessions_app.erasure import ERASED
from sessions_app.models import Message, SearchErasure, SearchSegment, SearchVector, Session
from sessions_app.objects import utc
from sessions_app.search import segments
from sessions_app.search.pending import pending_sessions
from sessions_app.search.postings import MOST_DOCUMENTS, decode
from sessions_app.search.segments import Indexed, Segment, Stale, microseconds
from sessions_app.search.text import searched_text, tools_in
from sessions_app.search.words import fold, grams, word_terms
from sessions_app.storage import storage

log = structlog.get_logger(__name__)

BATCH = 4_096
BATCH_CHARACTERS = 8_000_000
AT_ONCE = 512
SESSIONS = 2_048
# So many of a like size become one.
FAN = 8
SIZES = (256, 4_096, 32_768)
# What a writer that died left behind.
UNFINISHED = timedelta(hours=1)
# Rewritten at once by whoever erases; larger ones by the task.
SMALL = 8_192


class Pending(NamedTuple):
    message: int
    session: int
    platform: str
    seq: int
    kind: str
    role: str
    body: str
    at: datetime
    hidden: str
    through: int


PENDING = """
SELECT m.id, m.session_id, s.platform, m.seq, m.kind, m.role, m.body, m.created_at, m.hidden_by,
  s.searched_through
FROM sessions_app_message m JOIN sessions_app_session s ON s.id = m.session_id
WHERE s.id IN ({marks}) AND m.seq > s.searched_through AND m.seq <= s.searched_through + %s
  AND (m.session_id > %s OR m.session_id = %s AND m.seq > %s)
ORDER BY m.session_id, m.seq LIMIT %s
"""


def step(now: datetime) -> bool:
    """The next piece of work; whether there may be more."""
    try:
        return _purge_next(now) or _index_next(now) or _merge_next(now) or _tidy(now)
    except Stale:
        # Whoever erased a session has rewritten a segment meanwhile.
        return True


def is_due(now: datetime) -> bool:
    """Whether there is anything to write: most of the time nothing is."""
    return (
        pending_sessions().exists()
        or SearchErasure.objects.exists()
        or SearchSegment.objects.filter(live=False, created_at__lt=now - UNFINISHED).exists()
    )


def _index_next(now: datetime) -> bool:
    agent_id = _ready_sessions().order_by("agent_id").values_list("agent_id", flat=True).first()
    if agent_id is None:
        return False
    rows = list(_batch(agent_id))
    if not rows:
        return False
    number = segments.write(agent_id, segments.build([indexed(row) for row in rows]), now)
    try:
        commit(lambda: _show(number, rows))
    except Stale:
        # A session was erased, or somebody else was faster: nothing of this batch was marked.
        log.info("search index: a batch was overtaken", messages=len(rows))
        segments.drop([number])
    return True


def _ready_sessions() -> Any:
    """One that is still to leave the index comes back after that: else its new terms would go too."""
    return pending_sessions().exclude(pk__in=SearchErasure.objects.values("session"))


def _batch(agent_id: int) -> Iterator[Pending]:
    sessions = list(
        _ready_sessions().filter(agent_id=agent_id).order_by("pk").values_list("pk", flat=True)[:SESSIONS]
    )
    # Of many conversations a little each: what happened at one time shall stand in one segment.
    each = -(-BATCH // max(len(sessions), 1))
    statement = PENDING.format(marks=", ".join(["%s"] * len(sessions)))
    place, taken, characters = (0, 0), 0, 0
    while taken < BATCH and characters < BATCH_CHARACTERS:
        rows = storage().rows(statement, (*sessions, each, place[0], *place, AT_ONCE))
        for row in map(Pending._make, rows):
            yield row
            place, taken, characters = (row.session, row.seq), taken + 1, characters + len(row.body)
            if characters >= BATCH_CHARACTERS:
                break
        if len(rows) < AT_ONCE:
            break


def indexed(row: Pending) -> Indexed:
    folded = fold(searched_text(row.body))
    labels = {f"kind={row.kind}", f"role={row.role}", f"platform={row.platform}"}
    labels.update(f"tool={tool}" for tool in tools_in(row.body))
    terms = (labels, grams(folded), (str(row.session),), word_terms(folded))
    return Indexed(row.message, microseconds(utc(row.at)), terms)


def _show(number: int, rows: Sequence[Pending]) -> None:
    """The segment is there, and its messages are no longer pending: both or neither."""
    for session, group in groupby(rows, key=lambda row: row.session):
        first, *rest = group
        last = rest[-1] if rest else first
        marked = Session.objects.filter(pk=session, searched_through=first.through)
        if not marked.update(searched_through=last.seq):
            raise Stale
    if any_erased([row.message for row in rows if row.hidden != ERASED]):
        raise Stale
    segments.exchange([], [number])


def any_erased(messages: Sequence[int]) -> bool:
    """Of messages that said something when they were read: whether that was taken out of the record since.
    Asked after their sessions were marked, which waits for whoever erases."""
    return Message.objects.filter(pk__in=messages).exclude(hidden_by=ERASED).count() < len(messages)


def _merge_next(now: datetime) -> bool:
    """The oldest of one size that are too many."""
    for agent_id in (
        SearchSegment.objects.filter(live=True).order_by().values_list("agent_id", flat=True).distinct()
    ):
        found = SearchSegment.objects.filter(agent_id=agent_id, live=True).order_by("last_at", "pk")
        chosen = to_merge(list(found.values_list("pk", "count")))
        if chosen:
            _replace(agent_id, chosen, now)
            return True
    return False


def to_merge(found: Sequence[tuple[int, int]]) -> list[int]:
    """Of segments and their counts, oldest first: those to be made one, or none."""
    smallest = 0
    for largest in SIZES:
        alike = [(number, count) for number, count in found if smallest <= count < largest]
        smallest = largest
        if len(alike) >= FAN:
            chosen, total = [], 0
            for number, count in alike[: 2 * FAN]:
                total += count
                if total > MOST_DOCUMENTS:
                    break
                chosen.append(number)
            return chosen
    return []


def _replace(agent_id: int, old: Sequence[int], now: datetime, without: Any = None) -> None:
    contents = segments.merge(segments.load(old), without)
    new = [segments.write(agent_id, contents, now)] if contents else []
    try:
        commit(lambda: segments.exchange(old, new))
    except Stale:
        segments.drop(new)
        raise
    segments.drop(old)


def _tidy(now: datetime) -> bool:
    left = SearchSegment.objects.filter(live=False, created_at__lt=now - UNFINISHED)
    if ids := list(left.values_list("pk", flat=True)[:FAN]):
        segments.drop(ids)
    return bool(ids)


def forget(agent_id: int, session: int, now: datetime) -> None:
    """Runs inside the transaction that erases a session: the index follows at once, or by the task."""
    SearchVector.objects.filter(session_id=session)._raw_delete("default")
    SearchErasure.objects.create(agent_id=agent_id, session=session, created_at=now)
    transaction.on_commit(lambda: _purge_now(agent_id, session, now))


def take_out(agent_id: int, session: int, now: datetime) -> None:
    """The same of a session that stays: it comes back into the index with what is left of it."""
    forget(agent_id, session, now)
    Session.objects.filter(pk=session).update(searched_through=0, embedded_through=0)


def _purge_now(agent_id: int, session: int, now: datetime) -> None:
    # Where segments are merged meanwhile, the task does it.
    with suppress(Stale):
        purge(agent_id, session, now, most=SMALL)


def purge(agent_id: int, session: int, now: datetime, *, most: int = MOST_DOCUMENTS * 1024) -> bool:
    """Take an erased session out of the index; whether that is done. Not where it is more than `most`."""
    found = _segments_with(agent_id, session)
    if sum(segment.count for segment, _ in found) > most:
        return False
    for segment, messages in found:
        _replace(agent_id, [segment.id], now, without=messages)
    if SearchSegment.objects.filter(agent_id=agent_id, live=False).exists():
        # One that is being written may hold the session too: to be looked at once more.
        return False
    commit(lambda: SearchErasure.objects.filter(agent_id=agent_id, session=session).delete())
    return True


def _purge_next(now: datetime) -> bool:
    waiting = SearchErasure.objects.order_by("pk").first()
    return waiting is not None and purge(waiting.agent_id, waiting.session, now)


def _segments_with(agent_id: int, session: int) -> list[tuple[Segment, Any]]:
    term = f"s{session}".encode()
    live = SearchSegment.objects.filter(agent_id=agent_id, live=True).values_list("pk", flat=True)
    found = []
    for segment in segments.load(list(live)):
        for page in segments.read(segment.page_ids(term, term)).values():
            data = page.find(term)
            found += [(segment, segment.messages[decode(data, segment.count)])] if data else []
    return found
