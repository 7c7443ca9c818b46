"""Work that one process does at a time: a claim in the database, renewed while it goes on."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from sessions_app.commits import commit
from sessions_app.models import SearchDuty

# So long nothing is done after a worker was killed. Two that are at the same work do no harm: what is written
# last finds that it is no longer wanted.
CLAIM = timedelta(minutes=1)


class NotFree(Exception):
    """Another process is at it."""


@contextmanager
def held(name: str, clock: Callable[[], datetime], *, seconds: float) -> Iterator[Callable[[], None]]:
    """Waits that long for the duty; gives what renews it, and raises NotFree where somebody took it over."""
    deadline = time.monotonic() + seconds
    while (until := _claim(name, clock())) is None:
        if time.monotonic() > deadline:
            raise NotFree
        time.sleep(0.2)

    def renew() -> None:
        nonlocal until
        before, until = until, clock() + CLAIM
        if not _move(name, before, until):
            raise NotFree

    try:
        yield renew
    finally:
        _move(name, until, None)


def work_off(name: str, step: Callable[[datetime], bool], seconds: float) -> int:
    """Steps until there is nothing to do or the time is up; 0 at once where another process is at it."""
    deadline, steps = time.monotonic() + seconds, 0
    with suppress(NotFree), held(name, timezone.now, seconds=0) as renew:
        while time.monotonic() < deadline and step(timezone.now()):
            steps += 1
            renew()
    return steps


def _claim(name: str, now: datetime) -> datetime | None:
    """Until when it is ours."""

    def work() -> bool:
        SearchDuty.objects.get_or_create(name=name)
        free = SearchDuty.objects.filter(Q(until__isnull=True) | Q(until__lt=now), name=name)
        return bool(free.update(until=now + CLAIM))

    return now + CLAIM if commit(work) else None


def _move(name: str, before: datetime | None, until: datetime | None) -> bool:
    return bool(commit(lambda: SearchDuty.objects.filter(name=name, until=before).update(until=until)))
