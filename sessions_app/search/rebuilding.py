"""The index made anew from the record, while appends and searches go on with the old one."""

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from django.db.models import Sum

from sessions_app.commits import commit
from sessions_app.models import Agent, Message, SearchSegment, Session
from sessions_app.search import indexing, segments
from sessions_app.search.indexing import Pending

COLUMNS = ("pk", "session_id", "session__platform", "seq", "kind", "role", "body", "created_at", "hidden_by")


def rebuild(agent: Agent, clock: Callable[[], datetime], told: Callable[[int, int], object]) -> int:
    """Under the duty of the index, which `told` renews: it hears how many of how many are done."""
    total = Session.objects.filter(agent=agent).aggregate(total=Sum("searched_through"))["total"] or 0
    rows, new, done = _indexed_rows(agent), [], 0
    try:
        while batch := list(islice(rows, indexing.BATCH)):
            contents = segments.build([indexing.indexed(row) for row in batch])
            new.append(segments.write(agent.pk, contents, clock()))
            done += len(batch)
            told(done, max(total, done))
        old = commit(lambda: _exchange(agent, new))
    except BaseException:
        segments.drop(new)
        raise
    segments.drop(old)
    return done


def _exchange(agent: Agent, new: list[int]) -> list[int]:
    """Whoever erased a session meanwhile exchanged segments too; the task takes it out of the new ones."""
    old = list(SearchSegment.objects.filter(agent=agent, live=True).values_list("pk", flat=True))
    segments.exchange(old, new)
    return old


def _indexed_rows(agent: Agent) -> Iterator[Pending]:
    """What the index has; what is pending gets there by itself."""
    sessions = Session.objects.filter(agent=agent, searched_through__gt=0).order_by("pk")
    for session, through in sessions.values_list("pk", "searched_through").iterator():
        seq = 0
        while rows := _some(session, seq, through):
            for row in rows:
                yield Pending._make((*row, through))
            seq = rows[-1][3]


def _some(session: int, seq: int, through: int) -> list[tuple[Any, ...]]:
    behind = Message.objects.filter(session_id=session, seq__gt=seq, seq__lte=through)
    return list(behind.order_by("seq").values_list(*COLUMNS)[: indexing.AT_ONCE])
