"""The daily report of each agent: written at its local hour, kept, and delivered where the agent says.

A time that passed while nothing ran is one time: the report covers all that came since the last one.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import structlog
from django.db import transaction
from django.db.models import QuerySet

from gateway_app import outbox
from gateway_app.reset_outlook import outlook_of
from gateway_app.reset_rules import hour_after, hour_of
from sessions_app.access import SCOPES, Caller
from sessions_app.commits import commit
from sessions_app.models import Agent, Reflection
from sessions_app.problems import Invalid
from sessions_app.reflection_report import markdown
from sessions_app.reflections import DAILY, Scope, write

DAY = timedelta(days=1)
# What lies further back is told by the record itself.
FURTHEST = timedelta(days=7)
BATCH = 500
NO_KEY = 0

Clock = Callable[[], datetime]
log = structlog.get_logger(__name__)


def run(clock: Clock) -> int:
    """All that are due; how many reports were written."""
    _plan_new(clock())
    written = 0
    for agent in list(_due(clock()).order_by("next_reflection_at")[:BATCH]):
        written += _attempt(agent, clock())
    return written


def period(last: datetime | None, boundary: datetime) -> tuple[datetime, datetime]:
    """From the end of the last report, where that is not too long ago, to the hour that has come."""
    since = boundary - DAY
    if last is not None and boundary - FURTHEST <= last < boundary:
        since = min(last, since)
    return since, boundary


def last_hour(now: datetime, at_hour: int, zone: ZoneInfo) -> datetime:
    """When the local clock last came to this hour."""
    today = now.astimezone(zone).date()
    found = hour_of(today, at_hour, zone)
    return found if found <= now else hour_of(today - DAY, at_hour, zone)


def _plan_new(now: datetime) -> None:
    """Those that are new, or whose hour or time zone changed."""
    unplanned = Agent.objects.filter(reflection_enabled=True, next_reflection_at__isnull=True)
    for agent in unplanned.order_by("pk")[:BATCH]:
        planned = unplanned.filter(
            pk=agent.pk, reflection_hour=agent.reflection_hour, timezone=agent.timezone
        )
        commit(lambda planned=planned, agent=agent: planned.update(next_reflection_at=_next(agent, now)))  # type: ignore[misc]


def _due(now: datetime) -> QuerySet[Agent]:
    return Agent.objects.filter(reflection_enabled=True, next_reflection_at__lte=now)


def _attempt(agent: Agent, now: datetime) -> bool:
    try:
        return _reflect(agent, now)
    except Exception:
        # The report of one agent must not keep the others from theirs; it is tried again in a minute.
        log.exception("no report was written", agent=agent.name)
        return False


def _reflect(agent: Agent, now: datetime) -> bool:
    since, until = period(_last(agent), last_hour(now, agent.reflection_hour, ZoneInfo(agent.timezone)))
    report = write(agent, Scope(since=since, until=until), DAILY, now)

    def work() -> bool:
        # Whoever was first has moved the time on.
        due = Agent.objects.filter(pk=agent.pk, next_reflection_at=agent.next_reflection_at)
        if not due.update(next_reflection_at=_next(agent, now)):
            return False
        if agent.reflection_target:
            _deliver(agent, report, now)
        report.save(force_insert=True)
        return True

    return commit(work)


def _deliver(agent: Agent, report: Reflection, now: datetime) -> None:
    """A target that leads nowhere costs the delivery and not the report."""
    who = Caller(NO_KEY, agent.pk, agent.name, agent.timezone, frozenset(SCOPES), outlook_of(agent, now))
    try:
        with transaction.atomic():
            delivery = outbox.queue(who, agent.reflection_target, markdown(report.stats), None, now)
        report.delivery = delivery.uid
    except Invalid as error:
        report.delivery_error = error.detail[:500]


def _next(agent: Agent, now: datetime) -> datetime:
    return hour_after(now, agent.reflection_hour, ZoneInfo(agent.timezone))


def _last(agent: Agent) -> datetime | None:
    daily = Reflection.objects.filter(agent=agent, trigger=DAILY, until__isnull=False)
    return daily.order_by("-created_at", "-uid").values_list("until", flat=True).first()
