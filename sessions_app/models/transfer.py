"""What came in from elsewhere, what must go when, and what is kept of that."""

from typing import ClassVar

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from sessions_app.models.record import KEY_LENGTH, Agent, Kind, Session, time_ordered_id


class ImportState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Import(models.Model):
    """An uploaded file on its way into the record. The row is the truth; tasks only look at it."""

    uid = models.UUIDField(unique=True, default=time_ordered_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE)
    format = models.CharField(max_length=16)
    dry_run = models.BooleanField(default=False)
    # As its sender called it: many formats tell the session by the file's name.
    file_name = models.CharField(max_length=255)
    size = models.BigIntegerField()
    state = models.CharField(max_length=8, choices=ImportState.choices, default=ImportState.QUEUED)
    bytes_read = models.BigIntegerField(default=0)
    report = models.JSONField(default=dict)
    error = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=now)
    # While it runs: when it counts as lost and is taken up again.
    held_until = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["agent", "-created_at", "-uid"], name="import_newest"),
            models.Index(
                fields=["created_at"], condition=Q(state__in=["queued", "running"]), name="import_waiting"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.file_name} ({self.state})"


class ImportedSession(models.Model):
    """Which session stands for which one of another program: found again when it is imported again."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE)
    format = models.CharField(max_length=16)
    ref = models.CharField(max_length=KEY_LENGTH)
    # Sessions that may come later: their children are told when they do.
    previous_ref = models.CharField(max_length=KEY_LENGTH, blank=True)
    fork_ref = models.CharField(max_length=KEY_LENGTH, blank=True)
    # What the format says of the session beside its messages, for the way back.
    head = models.TextField(default="{}")
    # Totals that the format keeps by itself: only what they grow by is added.
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    cost_usd = models.FloatField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["agent", "format", "ref"], name="imported_session_once"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["agent", "format", "previous_ref"],
                condition=~Q(previous_ref=""),
                name="imported_before",
            ),
            models.Index(
                fields=["agent", "format", "fork_ref"], condition=~Q(fork_ref=""), name="imported_fork"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.format} {self.ref}"


class ImportedRecord(models.Model):
    """The mark of one record that was imported: the database itself takes each of them once."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE)
    mark = models.UUIDField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["agent", "mark"], name="imported_record_once"),
        ]

    def __str__(self) -> str:
        return str(self.mark)


class RetentionRule(models.Model):
    """What is kept of an agent's sessions; an empty platform, chat type or kind is "any"."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE)
    platform = models.CharField(max_length=64, blank=True)
    chat_type = models.CharField(max_length=16, blank=True)
    # With a kind, entries of it are emptied and keep their place; without, sessions are erased.
    kind = models.CharField(max_length=9, blank=True, choices=Kind.choices[1:])
    days = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    sessions = models.PositiveIntegerField(null=True, blank=True)
    bytes = models.PositiveBigIntegerField(null=True, blank=True)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=now, editable=False)

    class Meta:
        ordering: ClassVar = ["agent", "platform", "chat_type", "kind"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["agent", "platform", "chat_type", "kind"], name="one_retention_rule_per_place"
            ),
            models.CheckConstraint(
                condition=Q(days__isnull=False) | Q(sessions__isnull=False) | Q(bytes__isnull=False),
                name="retention_has_a_limit",
            ),
            models.CheckConstraint(
                condition=Q(kind="")
                | Q(
                    kind__in=["tool_call", "error", "decision"],
                    days__isnull=False,
                    sessions__isnull=True,
                    bytes__isnull=True,
                ),
                name="retention_of_a_kind_by_days",
            ),
            models.CheckConstraint(
                condition=Q(days__isnull=True) | Q(days__gte=1), name="retention_a_day_at_least"
            ),
        ]

    def __str__(self) -> str:
        place = ", ".join(part for part in (self.platform, self.chat_type, self.kind) if part) or "everything"
        limits = {"days": self.days, "sessions": self.sessions, "bytes": self.bytes}
        kept = ", ".join(f"{count} {name}" for name, count in limits.items() if count is not None)
        return f"{place}: {kept}"


class SessionSize(models.Model):
    """The bytes of a session's entries up to a seq, so that only what came since is measured."""

    session = models.OneToOneField(Session, on_delete=models.CASCADE)
    through = models.BigIntegerField()
    bytes = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.session_id}: {self.bytes}"


class Deletion(models.Model):
    """That something was deleted, by which rule and how much: never what."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE)
    reason = models.CharField(max_length=16)
    rule = models.CharField(max_length=255, blank=True)
    sessions = models.BigIntegerField(default=0)
    messages = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(default=now)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["agent", "-created_at", "-id"], name="deletion_newest")]

    def __str__(self) -> str:
        return f"{self.sessions} sessions, {self.messages} messages ({self.reason})"
