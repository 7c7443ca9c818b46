"""Agents, sessions, messages: what must never be true cannot be stored."""

import os
import time
import uuid
from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils.timezone import now

from sessions_app.strict_json import StoredJson

KEY_LENGTH = 512
ENGINES = [("extractive", "extractive"), ("llm", "llm")]


def time_ordered_id() -> uuid.UUID:
    """A version 7 UUID: new rows land at the end of their index, and the id tells no counts."""
    milliseconds = time.time_ns() // 1_000_000
    value = milliseconds << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


class Agent(models.Model):
    name = models.CharField(
        max_length=64,
        unique=True,
        validators=[
            RegexValidator(r"^[A-Za-z0-9._-]+\Z", "Letters, digits, dot, underscore and hyphen only.")
        ],
    )
    timezone = models.CharField(max_length=64, default="UTC")
    token_budget = models.PositiveIntegerField(default=32_000, validators=[MinValueValidator(1)])
    consolidate_after_minutes = models.PositiveIntegerField(default=15, validators=[MinValueValidator(1)])
    # The llm engine sends what was said to a server outside: an agent's operator has to ask for it.
    consolidation_engine = models.CharField(max_length=10, choices=ENGINES, default="extractive")
    reflection_enabled = models.BooleanField(default=True)
    reflection_hour = models.PositiveSmallIntegerField(default=6, validators=[MaxValueValidator(23)])
    # Where the report goes, as in a delivery; empty: it is only kept.
    reflection_target = models.CharField(max_length=1200, blank=True)
    # Null: to be worked out anew, after a change of the hour or the time zone.
    next_reflection_at = models.DateTimeField(null=True, blank=True, editable=False, db_index=True)
    created_at = models.DateTimeField(default=now, editable=False)
    # Its reset policies once more, in the row that every request reads anyway. Written with the policies.
    reset_policies = models.TextField(default="[]", editable=False)
    # Set when a policy changed: the sweep then looks anew at the open sessions behind this number.
    reset_recheck_after = models.BigIntegerField(null=True, editable=False)
    # What is made unreadable, and where, as JSON; empty for the defaults.
    redaction = models.TextField(default="", blank=True, editable=False)

    class Meta:
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name


class Session(models.Model):
    """One episode of a conversation. Counters move in the transaction of the message they count."""

    uid = models.UUIDField(unique=True, default=time_ordered_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    key = models.CharField(max_length=KEY_LENGTH)
    title = models.CharField(max_length=512, blank=True)
    platform = models.CharField(max_length=64, blank=True)
    chat_type = models.CharField(max_length=16, blank=True)
    source = models.JSONField(decoder=StoredJson, null=True, blank=True)
    metadata = models.JSONField(decoder=StoredJson, default=dict, blank=True)

    created_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(default=now)
    # Null until the user did something: only a person's own doing keeps a session alive.
    active_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    end_reason = models.CharField(max_length=32, blank=True)
    # Where a policy ended it: that policy and every reason that held, as JSON. Policies change; this stays.
    end_decision = models.TextField(null=True, blank=True, editable=False)  # noqa: DJ001 - null is "nothing"
    # By uid, which is what callers see: a session is shown without a look at its neighbours.
    previous = models.ForeignKey(
        "self", on_delete=models.SET_NULL, to_field="uid", null=True, blank=True, related_name="successors"
    )
    forked_from = models.ForeignKey(
        "self", on_delete=models.SET_NULL, to_field="uid", null=True, blank=True, related_name="forks"
    )
    # No policy ends the session before this time: an index tells who is due, to be looked at closely then.
    # Activity moves the real time later and leaves this one alone, so that an append never pays for it.
    reset_check_at = models.DateTimeField(null=True, blank=True)
    # The latest end of its leases; their names are looked up only while it lies ahead.
    leased_until = models.DateTimeField(null=True, blank=True)
    was_auto_reset = models.BooleanField(default=False)
    reset_reason = models.CharField(max_length=32, blank=True)
    # Whether a resolve has told the agent about the reset that led here.
    reset_told = models.BooleanField(default=False)

    last_seq = models.BigIntegerField(default=0)
    messages_count = models.BigIntegerField(default=0)
    tool_calls_count = models.BigIntegerField(default=0)
    errors_count = models.BigIntegerField(default=0)
    decisions_count = models.BigIntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    cost_usd = models.FloatField(default=0)
    # The same by the models that were named; looked at by the summary alone.
    usage_by_model = models.JSONField(null=True, blank=True)
    first_at = models.DateTimeField(null=True, blank=True)
    last_at = models.DateTimeField(null=True, blank=True)

    consolidated_through = models.BigIntegerField(default=0)
    summary = models.TextField(blank=True)
    # What the sessions before handed over, within a bound however long their chain is.
    carried = models.TextField(blank=True)
    # Estimated tokens of what the window shows and no summary covers.
    unconsolidated_tokens = models.BigIntegerField(default=0)
    # Nothing is to be condensed before this time: as with `reset_check_at`, activity leaves it alone.
    consolidate_check_at = models.DateTimeField(null=True, blank=True)
    # Up to which seq the index for search has it, and then the vectors. What lies behind is pending: an
    # append marks it by its own counter, and seqs are committed in their order, so that none is passed over.
    searched_through = models.BigIntegerField(default=0, editable=False)
    embedded_through = models.BigIntegerField(default=0, editable=False)
    # The last seq that came by an import. While nothing follows it, no policy ends and nothing condenses it.
    imported_through = models.BigIntegerField(null=True, blank=True, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["agent", "key"], condition=Q(ended_at__isnull=True), name="one_open_session_per_key"
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, end_reason="")
                | Q(ended_at__isnull=False) & ~Q(end_reason=""),
                name="session_end_has_reason",
            ),
            models.CheckConstraint(
                condition=Q(
                    last_seq=F("messages_count")
                    + F("tool_calls_count")
                    + F("errors_count")
                    + F("decisions_count")
                ),
                name="session_counts_add_up",
            ),
            models.CheckConstraint(
                condition=Q(consolidated_through__gte=0, consolidated_through__lte=F("last_seq")),
                name="session_consolidated_within",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["agent", "-updated_at", "-uid"], name="session_newest"),
            models.Index(fields=["agent", "key", "-ended_at"], name="session_by_key"),
            models.Index(
                fields=["reset_check_at"],
                condition=Q(ended_at__isnull=True, reset_check_at__isnull=False),
                name="session_reset_due",
            ),
            models.Index(
                fields=["consolidate_check_at"],
                condition=Q(ended_at__isnull=True, consolidate_check_at__isnull=False),
                name="session_consolidation_due",
            ),
            models.Index(
                fields=["agent", "id"],
                condition=Q(last_seq__gt=F("searched_through")),
                name="session_search_pending",
            ),
            models.Index(
                fields=["agent", "id"],
                condition=Q(searched_through__gt=F("embedded_through")),
                name="session_embedding_pending",
            ),
            # Lists of operators, newest first. An append to a session without errors writes none of them.
            models.Index(fields=["id"], condition=Q(ended_at__isnull=True), name="session_open"),
            models.Index(fields=["id"], condition=Q(errors_count__gt=0), name="session_with_errors"),
            models.Index(fields=["platform", "id"], name="session_of_platform"),
            models.Index(
                fields=["end_reason", "id"], condition=Q(ended_at__isnull=False), name="session_by_reason"
            ),
            models.Index(
                fields=["ended_at", "end_reason"], condition=Q(ended_at__isnull=False), name="session_ended"
            ),
            models.Index(fields=["created_at"], name="session_begun"),
        ]

    def __str__(self) -> str:
        return self.title or self.key


class Kind(models.TextChoices):
    MESSAGE = "message"
    TOOL_CALL = "tool_call"
    ERROR = "error"
    DECISION = "decision"


class Message(models.Model):
    """One entry of the record.

    `body` is JSON text: for kind message just what a provider is sent (role, content, tool calls …), so
    that a window joins stored bytes; for the other kinds their own fields. `extra` holds the rest.
    """

    # Its session's, whose own reference the database checks: one here would lock the agent's row in each
    # append, where all its writers meet.
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, db_index=False)
    seq = models.BigIntegerField()
    kind = models.CharField(max_length=9, choices=Kind.choices)
    role = models.CharField(max_length=9, blank=True)
    body = models.TextField()
    extra = models.TextField(null=True, blank=True)  # noqa: DJ001 - null is "nothing", an empty text is no JSON
    # True where `body` can be sent as it stands, whatever stands around it.
    plain = models.BooleanField(default=False)
    tokens = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    hidden_by = models.CharField(max_length=8, blank=True, default="")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["session", "seq"], name="message_seq_once"),
            models.CheckConstraint(condition=Q(seq__gte=1), name="message_seq_from_one"),
            models.CheckConstraint(
                condition=Q(kind="message", role__in=["user", "assistant", "system", "tool"])
                | Q(kind__in=["tool_call", "error", "decision"], role=""),
                name="message_kind_and_role",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["session", "seq"], condition=Q(kind="message", hidden_by=""), name="message_window"
            ),
            models.Index(
                fields=["session", "kind", "seq"], condition=~Q(kind="message"), name="message_other_kinds"
            ),
            models.Index(fields=["agent", "created_at", "id"], name="message_newest"),
            # What a count of what was searched leaves out.
            models.Index(fields=["agent", "id"], condition=~Q(hidden_by=""), name="message_hidden"),
            models.Index(
                fields=["agent", "kind", "created_at"],
                condition=Q(kind__in=["tool_call", "error", "decision"]) & ~Q(hidden_by="erased"),
                name="message_others_by_age",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.seq}"


class IdempotentAnswer(models.Model):
    """The answer to a request that carried an Idempotency-Key, stored with what the request did."""

    caller = models.BigIntegerField()
    path = models.CharField(max_length=1024)
    key = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    answer = models.TextField(default="")
    # An erased session takes the answers that describe it along.
    session = models.ForeignKey(Session, on_delete=models.CASCADE, null=True)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["caller", "path", "key"], name="idempotency_key_once"),
        ]

    def __str__(self) -> str:
        return self.key


class ConsolidationJob(models.Model):
    """A session that waits to be condensed: stored with the reason for it, so no lost task forgets it."""

    session = models.OneToOneField(Session, on_delete=models.CASCADE)
    trigger = models.CharField(max_length=8)
    created_at = models.DateTimeField(default=now)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=500, blank=True)
    # When it is to be done next; while somebody does it, when they count as lost.
    next_attempt_at = models.DateTimeField(default=now, db_index=True)
    running = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.session_id} ({self.trigger})"
