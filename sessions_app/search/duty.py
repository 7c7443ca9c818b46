"""Work that one process does at a time: a claim in the database, renewed while it goes on."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from sessions_app.commits import commit
from sessions_app.models import SearchDuty

CLAIM = timedelta(minutes=5)


def work_off(name: str, step: Callable[[datetime], bool], seconds: float) -> int:
    """Steps until there is nothing to do or the time is up; 0 at once where another process is at it."""
    deadline = time.monotonic() + seconds
    if not _claim(name, timezone.now()):
        return 0
    steps = 0
    try:
        while time.monotonic() < deadline and step(timezone.now()):
            steps += 1
            _renew(name, timezone.now() + CLAIM)
    finally:
        _renew(name, None)
    return steps


def _claim(name: str, now: datetime) -> bool:
    def work() -> bool:
        SearchDuty.objects.get_or_create(name=name)
        free = SearchDuty.objects.filter(Q(until__isnull=True) | Q(until__lt=now), name=name)
        return bool(free.update(until=now + CLAIM))

    # Most of the time there is nothing to do, and nothing to write.
    return commit(work)


def _renew(name: str, until: datetime | None) -> None:
    commit(lambda: SearchDuty.objects.filter(name=name).update(until=until))
