"""Counts what was recorded in each hour, a batch of new rows at a time and off the path of every append."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Sum
from django.db.models.functions import TruncHour

from sessions_app.commits import commit
from sessions_app.models import ActivityMark, Agent, HourlyActivity, Message, StorageSample
from sessions_app.storage import storage

BATCH = 20_000
# What the counting has not come to yet is looked at directly, as far as this.
TAIL = 2_000
SAMPLES_KEPT = timedelta(days=400)
COLUMNS = {"message": "messages", "tool_call": "tool_calls", "error": "errors", "decision": "decisions"}

Place = tuple[int, datetime]
Counts = dict[str, int]


@dataclass(frozen=True, slots=True)
class Hour:
    hour: datetime
    messages: int = 0
    tool_calls: int = 0
    errors: int = 0
    decisions: int = 0
    tokens: int = 0

    @property
    def entries(self) -> int:
        return self.messages + self.tool_calls + self.errors + self.decisions


def run(now: datetime) -> int:
    """Counts what was there at the last look, then looks again: a row whose number was given out early and
    that was stored late is there by then."""
    total = 0
    while counted := step():
        total += counted
    _look()
    _sample(now)
    return total


def step() -> int:
    """One batch; how many numbers it covered, 0 when there is nothing to do."""
    mark = _mark()
    through = min(mark.seen, mark.counted + BATCH)
    if through <= mark.counted:
        return 0
    counts = _counted(mark.counted, through)

    def work() -> int:
        # Whoever moves the mark has counted; a second worker has counted for nothing.
        moved = ActivityMark.objects.filter(pk=mark.pk, counted=mark.counted).update(counted=through)
        if moved:
            _add(counts)
        return moved

    return through - mark.counted if commit(work) else 0


def hours(since: datetime) -> list[Hour]:
    """Every hour since then in which something was recorded, oldest first."""
    columns = (*COLUMNS.values(), "tokens")
    rows = HourlyActivity.objects.filter(hour__gte=since).values("hour")
    found: dict[datetime, Counts] = defaultdict(lambda: dict.fromkeys(columns, 0))
    sums: Any = rows.annotate(**{f"sum_{name}": Sum(name) for name in columns}).order_by("hour")
    for row in sums:
        found[row["hour"]] = {name: row[f"sum_{name}"] for name in columns}
    for kind, created_at, tokens in _uncounted():
        if created_at >= since:
            counts = found[created_at.replace(minute=0, second=0, microsecond=0)]
            counts[COLUMNS[kind]] += 1
            counts["tokens"] += tokens
    return [Hour(hour, **found[hour]) for hour in sorted(found)]


def sizes(since: datetime) -> list[tuple[datetime, int]]:
    return list(StorageSample.objects.filter(hour__gte=since).order_by("hour").values_list("hour", "size"))


def _mark() -> ActivityMark:
    return ActivityMark.objects.get_or_create(pk=1)[0]


def _look() -> None:
    newest = Message.objects.order_by("-pk").values_list("pk", flat=True).first()
    ActivityMark.objects.filter(pk=1, seen__lt=newest or 0).update(seen=newest or 0)


def _counted(after: int, through: int) -> dict[Place, Counts]:
    rows = Message.objects.filter(pk__gt=after, pk__lte=through).annotate(hour=TruncHour("created_at"))
    found: dict[Place, Counts] = defaultdict(lambda: defaultdict(int))
    grouped = rows.values("agent_id", "hour", "kind").order_by().annotate(n=Count("pk"), sum=Sum("tokens"))
    for row in grouped:
        counts = found[row["agent_id"], row["hour"]]
        counts[COLUMNS[row["kind"]]] += row["n"]
        counts["tokens"] += row["sum"]
    return found


def _add(counted: dict[Place, Counts]) -> None:
    known = set(Agent.objects.filter(pk__in={agent for agent, _ in counted}).values_list("pk", flat=True))
    new = []
    for (agent_id, hour), counts in counted.items():
        added = {name: F(name) + number for name, number in counts.items()}
        if (
            not HourlyActivity.objects.filter(agent_id=agent_id, hour=hour).update(**added)
            and agent_id in known
        ):
            new.append(HourlyActivity(agent_id=agent_id, hour=hour, **counts))
    HourlyActivity.objects.bulk_create(new)


def _uncounted() -> Iterable[tuple[str, datetime, int]]:
    counted = ActivityMark.objects.filter(pk=1).values_list("counted", flat=True).first() or 0
    rows = Message.objects.filter(pk__gt=counted).order_by("pk")
    return rows.values_list("kind", "created_at", "tokens")[:TAIL]


def _sample(now: datetime) -> None:
    hour = now.replace(minute=0, second=0, microsecond=0)
    if not StorageSample.objects.filter(hour=hour).exists():
        StorageSample.objects.get_or_create(hour=hour, defaults={"size": storage().size()})
        StorageSample.objects.filter(hour__lt=now - SAMPLES_KEPT).delete()
