"""Work that one process does at a time: a claim in the database, renewed while it goes on."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from sessions_app.commits import commit
from sessions_app.models import SearchDuty

CLAIM = timedelta(minutes=5)


class NotFree(Exception):
    """Another process is at it."""


@contextmanager
def held(name: str, clock: Callable[[], datetime], *, seconds: float) -> Iterator[Callable[[], None]]:
    """Waits that long for the duty; gives what renews it."""
    deadline = time.monotonic() + seconds
    while not _claim(name, clock()):
        if time.monotonic() > deadline:
            raise NotFree
        time.sleep(0.2)
    try:
        yield lambda: _renew(name, clock() + CLAIM)
    finally:
        _renew(name, None)


def work_off(name: str, step: Callable[[datetime], bool], seconds: float) -> int:
    """Steps until there is nothing to do or the time is up; 0 at once where another process is at it."""
    deadline, steps = time.monotonic() + seconds, 0
    try:
        with held(name, timezone.now, seconds=0) as renew:
            while time.monotonic() < deadline and step(timezone.now()):
                steps += 1
                renew()
    except NotFree:
        return 0
    return steps


def _claim(name: str, now: datetime) -> bool:
    def work() -> bool:
        SearchDuty.objects.get_or_create(name=name)
        free = SearchDuty.objects.filter(Q(until__isnull=True) | Q(until__lt=now), name=name)
        return bool(free.update(until=now + CLAIM))

    return commit(work)


def _renew(name: str, until: datetime | None) -> None:
    commit(lambda: SearchDuty.objects.filter(name=name).update(until=until))
