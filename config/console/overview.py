"""The first page: what is there, what happens, what is wrong, each number with the way to its list."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.admin.models import LogEntry
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from config.console import charts, health
from config.console.troubled_skills import troubled
from gateway_app.models import Delivery, DeliveryState
from gateway_app.outbox import WAITING
from sessions_app import activity
from sessions_app.models import Agent, Consolidation, ConsolidationJob, Session
from sessions_app.storage import storage

# Nobody needs to know how many more: the count stops here.
MOST = 100_000
DAY, MONTH = "24h", "30d"
LOGGED = 6


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    value: str
    link: str
    note: str = ""
    alarming: bool = False


def overview(request: HttpRequest, now: datetime) -> dict[str, Any]:
    period = MONTH if request.GET.get("period") == MONTH else DAY
    since = _since(period, now)
    found = health.parts(now)
    context: dict[str, Any] = {"parts": found, "missing": health.missing(found), "period": period}
    if request.user.has_perm("sessions_app.view_session"):
        hours = activity.hours(since)
        context |= {
            "figures": [*_record(hours, period), *_waiting(), *_condensed(since, period), _storage(now)],
            "entries": _entries(hours, period, now),
            "resets": _resets(since),
            "sizes": _sizes(now),
        }
    if request.user.has_perm("skills_app.view_skillrollup"):
        context["skills"] = troubled(since)
    if request.user.has_perm("admin.view_logentry"):
        context["logged"] = _logged()
    return context


def _since(period: str, now: datetime) -> datetime:
    if period == DAY:
        return now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=23)
    return now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=29)


def _record(hours: list[activity.Hour], period: str) -> list[Figure]:
    sessions, entries = page("sessions_app_session"), f"{page('sessions_app_message')}?recorded={period}"
    errors = sum(hour.errors for hour in hours)
    calls = sum(hour.tool_calls for hour in hours)
    return [
        Figure("Agents", str(Agent.objects.count()), page("sessions_app_agent")),
        Figure("Open sessions", counted(Session.objects.filter(ended_at=None)), f"{sessions}?open=yes"),
        Figure(
            "Messages", charts.short(sum(hour.messages for hour in hours)), f"{entries}&kind__exact=message",
            f"and {charts.short(calls)} tool calls",
        ),
        Figure("Tokens", charts.short(sum(hour.tokens for hour in hours)), entries, "estimated"),
        Figure("Errors", charts.short(errors), f"{entries}&kind__exact=error", alarming=bool(errors)),
    ]  # fmt: skip


def _condensed(since: datetime, period: str) -> list[Figure]:
    made = Consolidation.objects.filter(created_at__gte=since)
    waiting = counted(ConsolidationJob.objects.all())
    return [
        Figure("Consolidations", counted(made), f"{page('sessions_app_consolidation')}?made={period}"),
        Figure("To be condensed", waiting, page("sessions_app_consolidationjob")),
    ]


def _waiting() -> list[Figure]:
    deliveries = page("gateway_app_delivery")
    states = dict(
        Delivery.objects.filter(next_attempt_at__isnull=False).values_list("state").annotate(Count("pk"))
    )
    dead = Delivery.objects.filter(state=DeliveryState.DEAD)
    number = counted(dead)
    return [
        Figure(
            "Deliveries waiting",
            str(sum(states.get(state, 0) for state in WAITING)),
            f"{deliveries}?waiting=yes",
        ),
        Figure("Deliveries dead", number, f"{deliveries}?state__exact=dead", alarming=number != "0"),
    ]


def _storage(now: datetime) -> Figure:
    size = storage().size()
    before = activity.sizes(now - timedelta(days=7))
    growth = (
        f"{charts.size(max(0, size - before[0][1]))} more in {health.age(before[0][0], now)}"
        if before
        else ""
    )
    return Figure("Storage", charts.size(size), page("sessions_app_session"), growth)


def _entries(hours: list[activity.Hour], period: str, now: datetime) -> charts.Chart:
    per_hour = period == DAY
    step = timedelta(hours=1) if per_hour else timedelta(days=1)
    form = "%H:%M" if per_hour else "%d %b"
    slots = {_since(period, now) + step * index: [0, 0] for index in range(24 if per_hour else 30)}
    for hour in hours:
        at = hour.hour if per_hour else hour.hour.replace(hour=0)
        if at in slots:
            slots[at][0] += hour.entries
            slots[at][1] += hour.errors
    entries = page("sessions_app_message")
    values = [
        charts.Bar(
            at.strftime(form), total, errors,
            f"{entries}?recorded={at:%Y-%m-%dT%H}" if per_hour else f"{entries}?recorded={at:%Y-%m-%d}",
        )
        for at, (total, errors) in slots.items()
    ]  # fmt: skip
    return charts.bars(values, "Entries an hour" if per_hour else "Entries a day")


def _resets(since: datetime) -> list[dict[str, Any]]:
    ended = Session.objects.filter(ended_at__gte=since).values_list("end_reason")
    found = sorted(ended.annotate(number=Count("pk")), key=lambda pair: -pair[1])
    most = max((number for _, number in found), default=1)
    address = page("sessions_app_session")
    return [
        {
            "reason": reason,
            "number": number,
            "tenths": round(number / most * 20),
            "link": f"{address}?reason={reason}",
        }
        for reason, number in found
    ]


def _sizes(now: datetime) -> dict[str, Any] | None:
    found = activity.sizes(now - timedelta(days=30))
    if len(found) < 3:
        return None
    amounts = [size for _, size in found]
    return {
        "line": charts.line(amounts, "Storage in the last 30 days"),
        "top": charts.size(max(amounts)), "bottom": charts.size(min(amounts)),
        "begin": f"{found[0][0]:%d %b}", "end": f"{found[-1][0]:%d %b}",
    }  # fmt: skip


def _logged() -> list[LogEntry]:
    return list(LogEntry.objects.select_related("user", "content_type").order_by("-pk")[:LOGGED])


def counted(rows: QuerySet[Any]) -> str:
    number = rows.order_by()[: MOST + 1].count()
    return f"{MOST // 1000} k +" if number > MOST else f"{number:,}".replace(",", " ")


def page(name: str) -> str:
    return reverse(f"admin:{name}_changelist")


def today() -> datetime:
    return datetime.now(UTC)
