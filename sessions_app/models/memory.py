"""What is remembered: consolidations, the long-term memory, reflections, and how the work on them went."""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.timezone import now

from sessions_app.models.record import ENGINES, Agent, Session, time_ordered_id
from sessions_app.strict_json import StoredJson


class MemoryRevision(models.Model):
    """One version of an agent's long-term memory. The newest is what counts; none of them is changed but to
    erase what came from a person's sessions."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    version = models.PositiveIntegerField()
    content = models.TextField(blank=True)
    author = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["agent", "version"], name="memory_version_once"),
            models.CheckConstraint(condition=Q(version__gte=1), name="memory_version_from_one"),
        ]

    def __str__(self) -> str:
        return f"version {self.version}"


class Consolidation(models.Model):
    """A range of a session's record, condensed. `summary` and `points` tell of everything up to its end."""

    uid = models.UUIDField(unique=True, default=time_ordered_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, db_index=False)
    from_seq = models.BigIntegerField()
    through_seq = models.BigIntegerField()
    trigger = models.CharField(max_length=8)
    engine = models.CharField(max_length=10, choices=ENGINES)
    model = models.CharField(max_length=200, blank=True)
    # Why the engine that the agent asks for did not do it.
    fell_back = models.CharField(max_length=500, blank=True)
    entries = models.PositiveIntegerField()
    tokens_before = models.BigIntegerField()
    tokens_after = models.BigIntegerField()
    summary = models.TextField()
    points = models.JSONField(decoder=StoredJson, default=list)
    memory = models.ForeignKey(MemoryRevision, on_delete=models.SET_NULL, null=True, blank=True)
    seconds = models.FloatField(default=0)
    created_at = models.DateTimeField(default=now)
    discarded_at = models.DateTimeField(null=True, blank=True)
    discarded_by = models.CharField(max_length=150, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["session", "from_seq"],
                condition=Q(discarded_at__isnull=True),
                name="one_consolidation_of_a_range",
            ),
            models.CheckConstraint(
                condition=Q(from_seq__gte=1, through_seq__gte=F("from_seq")), name="consolidation_has_a_range"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["session", "-through_seq"], name="consolidation_of_session"),
        ]

    def __str__(self) -> str:
        return f"{self.from_seq} to {self.through_seq} ({self.engine})"


class Reflection(models.Model):
    """A report on what was recorded, as Markdown and as data."""

    uid = models.UUIDField(unique=True, default=time_ordered_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    # Null: over all sessions.
    session = models.ForeignKey(Session, on_delete=models.CASCADE, null=True, blank=True)
    trigger = models.CharField(max_length=8)
    since = models.DateTimeField(null=True, blank=True)
    until = models.DateTimeField(null=True, blank=True)
    entries = models.PositiveIntegerField()
    markdown = models.TextField()
    stats = models.JSONField(decoder=StoredJson)
    # The delivery of it, by its id; or why there is none.
    delivery = models.UUIDField(null=True, blank=True)
    delivery_error = models.CharField(max_length=500, blank=True)
    seconds = models.FloatField(default=0)
    created_at = models.DateTimeField(default=now)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["agent", "-created_at", "-uid"], name="reflection_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.entries} entries"


class Run(models.Model):
    """A long piece of work on one agent's sessions, as far as it has come."""

    uid = models.UUIDField(unique=True, default=time_ordered_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    name = models.CharField(max_length=64)
    state = models.CharField(max_length=8, default="running")
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=500, blank=True)
    started_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(default=now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["agent", "-started_at", "-uid"], name="run_newest")]

    def __str__(self) -> str:
        return f"{self.name}: {self.done} of {self.total}"


class ScheduleState(models.Model):
    """How the last run of a schedule went. The schedule itself is a row of the scheduler."""

    name = models.CharField(max_length=200, unique=True)
    started_at = models.DateTimeField()
    seconds = models.FloatField()
    succeeded = models.BooleanField()
    result = models.CharField(max_length=500, blank=True)
    runs = models.PositiveBigIntegerField(default=1)
    failures = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return self.name
