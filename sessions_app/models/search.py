"""The index for search: segments that are written once, their pages of terms, and vectors of meaning."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from sessions_app.models.record import Agent, Session


class SearchSegment(models.Model):
    """Up to 65 536 messages of one agent, oldest first. Never changed: merged or rewritten into a new one."""

    id = models.BigIntegerField(primary_key=True)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    # Its pages come in several transactions; only then is it looked at.
    live = models.BooleanField(default=False)
    count = models.PositiveIntegerField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    # Numbers of the messages, their times in microseconds, and the first term of each page; packed.
    messages = models.BinaryField()
    times = models.BinaryField()
    directory = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["agent", "-last_at"], condition=Q(live=True), name="search_segment_live"),
            models.Index(fields=["agent"], name="search_segment_of_agent"),
            models.Index(fields=["created_at"], condition=Q(live=False), name="search_segment_unfinished"),
        ]

    def __str__(self) -> str:
        return f"{self.count} messages"


class SearchPage(models.Model):
    """Terms in their order, each with the places of its messages in the segment."""

    # The segment's number and the page's: one look finds it.
    id = models.BigIntegerField(primary_key=True)
    segment = models.ForeignKey(SearchSegment, on_delete=models.CASCADE)
    data = models.BinaryField()

    def __str__(self) -> str:
        return str(self.id)


class SearchErasure(models.Model):
    """An erased session whose terms may still be in segments: a task rewrites them."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE)
    # Of a session that is gone.
    session = models.BigIntegerField()
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.session)


class SearchVector(models.Model):
    """The meaning of one message: a scale and whole numbers from -127 to 127."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE)
    # Its number; without a constraint, which would make every erasure look twice.
    message = models.BigIntegerField()
    model = models.CharField(max_length=128)
    dimensions = models.PositiveSmallIntegerField()
    data = models.BinaryField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["agent", "model", "id"], name="search_vector_of_agent"),
        ]

    def __str__(self) -> str:
        return str(self.message)


class SearchDuty(models.Model):
    """Who feeds the index: one process at a time, for as long as it renews its claim."""

    name = models.CharField(max_length=16, primary_key=True)
    until = models.DateTimeField(null=True)
    # Of the vectors that are there: those of another model are made anew.
    model = models.CharField(max_length=128, blank=True)

    def __str__(self) -> str:
        return self.name
