"""Long actions of operators: a row that tells how far it has come, whatever page is open."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.timezone import now

from sessions_app.models.record import time_ordered_id


class JobState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"


class OperatorJob(models.Model):
    """An action over many rows. Each row is done and counted in one transaction."""

    uid = models.UUIDField(unique=True, default=time_ordered_id, editable=False)
    action = models.CharField(max_length=32)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True)
    # The numbers of the rows that are still to be done, and what the action needs besides.
    rows = models.JSONField(default=list)
    options = models.JSONField(default=dict)
    state = models.CharField(max_length=8, choices=JobState.choices, default=JobState.QUEUED)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    last_refusal = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=now)
    # Moves with each step: one that stands still has lost its task.
    moved_at = models.DateTimeField(default=now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-pk"]
        indexes: ClassVar = [
            models.Index(
                fields=["moved_at"],
                condition=models.Q(state__in=["queued", "running"]),
                name="job_unfinished",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} ({self.state})"
