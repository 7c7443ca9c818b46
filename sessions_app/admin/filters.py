"""Filters of lists whose values are known without a look at the table."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from sessions_app.models import Agent, Message

SPANS = {
    "1h": timedelta(hours=1),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
SLOT = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d))?")


class Choice(admin.SimpleListFilter):
    """One of a few values, each of which is found by an index."""

    choices_: tuple[tuple[str, str], ...] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(self.choices_)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        known = dict(self.lookup_choices)
        return queryset.filter(self.chosen(self.value() or "")) if self.value() in known else queryset

    def chosen(self, value: str) -> Q:
        raise NotImplementedError


class Period(Choice):
    choices_ = (("1h", "in the last hour"), ("24h", "24 hours"), ("7d", "7 days"), ("30d", "30 days"))


class Made(Period):
    title, parameter_name = "made", "made"

    def chosen(self, value: str) -> Q:
        return Q(created_at__gte=timezone.now() - SPANS[value])


class Recorded(Period):
    """A period up to now, or the hour or the day to which a chart leads."""

    title, parameter_name = "recorded", "recorded"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        value = request.GET.get(self.parameter_name, "")
        slot = (
            [(value, f"{value.replace('T', ' ')}{':00' if 'T' in value else ''}")] if slot_of(value) else []
        )
        return [*super().lookups(request, model_admin), *slot]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value() or ""
        if (slot := slot_of(value)) is not None:
            # By the agents' index of times; the table is in no order of its own.
            begin, end = slot
            agents = Agent.objects.values("pk")
            within = Message.objects.filter(agent__in=agents, created_at__gte=begin, created_at__lt=end)
            return queryset.filter(pk__in=within.values("pk"))
        return super().queryset(request, queryset)

    def chosen(self, value: str) -> Q:
        return Q(created_at__gte=timezone.now() - SPANS[value])


def slot_of(text: str) -> tuple[datetime, datetime] | None:
    found = SLOT.fullmatch(text)
    if found is None:
        return None
    try:
        begin = datetime.fromisoformat(f"{found[1]}T{found[2] or '00'}:00").replace(tzinfo=UTC)
        return begin, begin + (timedelta(hours=1) if found[2] else timedelta(days=1))
    except (ValueError, OverflowError):
        return None
