"""What happened in each hour, counted off the path of an append: pictures never read the record itself."""

from typing import ClassVar

from django.db import models

from sessions_app.models.record import Agent


class HourlyActivity(models.Model):
    """What an agent recorded in one hour, by the times of the entries."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    hour = models.DateTimeField()
    messages = models.BigIntegerField(default=0)
    tool_calls = models.BigIntegerField(default=0)
    errors = models.BigIntegerField(default=0)
    decisions = models.BigIntegerField(default=0)
    tokens = models.BigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "hourly activity"
        constraints: ClassVar = [
            # The hour first: pictures ask for a stretch of time over all agents.
            models.UniqueConstraint(fields=["hour", "agent"], name="one_count_per_hour_and_agent"),
        ]

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H}:00"


class ActivityMark(models.Model):
    """How far the counting has come: one row."""

    # Everything up to this message is counted.
    counted = models.BigIntegerField(default=0)
    # The last message that was there at the last look: by the next one all before it are stored.
    seen = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"counted up to {self.counted}"


class StorageSample(models.Model):
    """The size of the database, once an hour."""

    hour = models.DateTimeField(unique=True)
    size = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H}:00"
