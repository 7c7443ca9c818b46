"""The sweep: ends what policies have made due, a batch at a time, at a cost that depends on what is due."""

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from gateway_app.models import Lease
from gateway_app.reset_outlook import outlook_of
from sessions_app.commits import commit
from sessions_app.episodes import Ending, end
from sessions_app.models import Agent, Session
from sessions_app.objects import is_subject_to_resets
from sessions_app.transcripts.placing import LOOK_AGAIN

BATCH = 500
# Of the minute until the next one starts.
LONGEST_SECONDS = 50.0
COLUMNS = (
    "pk", "agent_id", "platform", "chat_type", "created_at", "active_at", "leased_until", "reset_check_at",
    "ended_at", "imported_through", "last_seq", "last_at",
)  # fmt: skip

Row = Mapping[str, Any]


def run() -> int:
    """Steps until nothing is left to do or the time is up; the next run goes on from there."""
    deadline = time.monotonic() + LONGEST_SECONDS
    looked_at = 0
    while time.monotonic() < deadline and (count := step(timezone.now())):
        looked_at += count
    return looked_at


def step(now: datetime) -> int:
    """One batch, whole in one transaction: how many rows it looked at, 0 when there is nothing to do."""
    return (
        commit(lambda: _sweep_due(now))
        or commit(lambda: _recheck(now))
        or commit(lambda: _forget_leases(now))
    )


def _sweep_due(now: datetime) -> int:
    """Whoever else sweeps or writes to one of them meanwhile has it: it is passed over."""
    due = Session.objects.filter(ended_at__isnull=True, reset_check_at__lt=now).order_by("reset_check_at")
    return _settle(due.select_for_update(skip_locked=True), now)


def _recheck(now: datetime) -> int:
    """The open sessions of an agent whose policies or time zone changed, in the order of their numbers."""
    changed = Agent.objects.filter(reset_recheck_after__isnull=False).order_by("pk")
    # A weak lock: new sessions of the agent need not wait for it.
    agent = changed.select_for_update(skip_locked=True, no_key=True).first()
    if agent is None or agent.reset_recheck_after is None:
        return 0
    behind = Session.objects.filter(agent=agent, ended_at__isnull=True, pk__gt=agent.reset_recheck_after)
    batch = list(behind.order_by("pk").values_list("pk", flat=True)[:BATCH])
    agent.reset_recheck_after = batch[-1] if batch else None
    agent.save(update_fields=["reset_recheck_after"])
    # Waits for those that others hold: what they write by the old policies must not stay.
    _settle(
        Session.objects.filter(pk__in=batch, ended_at__isnull=True).order_by("pk").select_for_update(), now
    )
    return len(batch) or 1


def _settle(claimed: QuerySet[Session], now: datetime) -> int:
    """Ends each that is due, and notes for the others when to look again: never before that is it due."""
    rows: list[Row] = list(claimed.values(*COLUMNS)[:BATCH])
    agents = Agent.objects.in_bulk({row["agent_id"] for row in rows})
    due: dict[Ending, list[int]] = {}
    later: list[Session] = []
    for row in rows:
        outlook = outlook_of(agents[row["agent_id"]], now)
        if (why := outlook.ending(row)) is not None:
            due.setdefault(why, []).append(row["pk"])
        elif not is_subject_to_resets(row):
            later.append(Session(pk=row["pk"], reset_check_at=now + LOOK_AGAIN))
        elif (next_at := outlook.next_at(row)) != row["reset_check_at"]:
            later.append(Session(pk=row["pk"], reset_check_at=next_at))
    for why, pks in due.items():
        end(pks, why, now)
    Session.objects.bulk_update(later, ["reset_check_at"])
    return len(rows)


def _forget_leases(now: datetime) -> int:
    """An expired lease blocks nothing, whether it is still here or not."""
    expired = Lease.objects.filter(expires_at__lte=now)
    pks = set(expired.order_by("expires_at").values_list("session_id", flat=True)[:BATCH])
    if not pks:
        return 0
    # The session first, as whoever renews a lease does it.
    sessions = Session.objects.select_for_update(skip_locked=True).filter(pk__in=pks)
    held = list(sessions.values_list("pk", flat=True))
    forgotten, _ = expired.filter(session_id__in=held).delete()
    Session.objects.filter(pk__in=held, leased_until__lte=now).update(leased_until=None)
    return forgotten
