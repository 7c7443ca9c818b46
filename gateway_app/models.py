"""Tables of the door: who may come in, where messages come from and go to, when a session ends."""

from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from sessions_app.models import Agent, Session, time_ordered_id


class ApiKey(models.Model):
    """A key of one agent, or (without one) an operator's key for all. The secret itself is never stored."""

    name = models.CharField(max_length=128)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, null=True, blank=True)
    prefix = models.CharField(max_length=12, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering: ClassVar = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class DmScope(models.TextChoices):
    CHAT = "chat"
    OWNER = "owner"


class GroupScope(models.TextChoices):
    CHAT = "chat"
    USER = "user"


class Platform(models.Model):
    """A chat platform as one agent is connected to it."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE)
    platform = models.CharField(max_length=64)
    enabled = models.BooleanField(default=True)
    home_chat_id = models.CharField(max_length=512, blank=True)
    home_name = models.CharField(max_length=512, blank=True)
    home_thread_id = models.CharField(max_length=512, blank=True)
    webhook_url = models.CharField(max_length=2048, blank=True)
    webhook_secret = models.CharField(max_length=128, blank=True, editable=False)
    dm_scope = models.CharField(max_length=8, choices=DmScope.choices, default=DmScope.CHAT)
    group_scope = models.CharField(max_length=8, choices=GroupScope.choices, default=GroupScope.CHAT)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["agent", "platform"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["agent", "platform"], name="one_connection_per_platform"),
        ]

    def __str__(self) -> str:
        return self.platform


class Person(models.Model):
    """Somebody whom the agent knows on several platforms: all of their DMs share one session."""

    uid = models.UUIDField(unique=True, default=time_ordered_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE)
    name = models.CharField(max_length=240)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name_plural = "people"
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name


class Identity(models.Model):
    """One person's user id on one platform, in the form in which ids are compared."""

    # Once more beside the person's, so that the database itself keeps an id with one person of an agent.
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, editable=False)
    person = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="identities")
    platform = models.CharField(max_length=64)
    user_id = models.CharField(max_length=512)

    class Meta:
        verbose_name_plural = "identities"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["agent", "platform", "user_id"], name="one_person_per_identity"),
        ]

    def __str__(self) -> str:
        return f"{self.platform}:{self.user_id}"


class ResetMode(models.TextChoices):
    NONE = "none"
    IDLE = "idle"
    DAILY = "daily"
    BOTH = "both"
    ALL = "all"


class ResetPolicy(models.Model):
    """When sessions of a platform and chat type end; an empty one of them is "any"."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE)
    platform = models.CharField(max_length=64, blank=True)
    chat_type = models.CharField(max_length=16, blank=True)
    mode = models.CharField(max_length=8, choices=ResetMode.choices, default=ResetMode.BOTH)
    idle_minutes = models.PositiveIntegerField(
        default=1440, validators=[MinValueValidator(1), MaxValueValidator(5_256_000)]
    )
    at_hour = models.PositiveSmallIntegerField(default=4, validators=[MaxValueValidator(23)])
    # Empty: the agent's own.
    timezone = models.CharField(max_length=64, blank=True)

    class Meta:
        verbose_name_plural = "reset policies"
        ordering: ClassVar = ["agent", "platform", "chat_type"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["agent", "platform", "chat_type"], name="one_policy_per_place"),
            models.CheckConstraint(condition=Q(at_hour__lte=23), name="policy_hour_of_a_day"),
            models.CheckConstraint(condition=Q(idle_minutes__gte=1), name="policy_idle_at_least_a_minute"),
        ]

    def __str__(self) -> str:
        return f"{self.platform or 'any platform'}, {self.chat_type or 'any chat'}: {self.mode}"


class Lease(models.Model):
    """An agent's work in the background, which keeps policies from ending its session until it runs out."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="leases")
    name = models.CharField(max_length=240)
    created_at = models.DateTimeField(default=timezone.now)
    renewed_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["session", "name"], name="one_lease_of_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class DeliveryState(models.TextChoices):
    QUEUED = "queued"
    SENDING = "sending"
    RETRYING = "retrying"
    DELIVERED = "delivered"
    DEAD = "dead"


class Delivery(models.Model):
    """A message on its way out. The row is the truth; tasks only look at it."""

    uid = models.UUIDField(unique=True, default=time_ordered_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, null=True, blank=True)
    target = models.CharField(max_length=1200)
    platform = models.CharField(max_length=64)
    chat_id = models.CharField(max_length=512, blank=True)
    thread_id = models.CharField(max_length=512, blank=True)
    content = models.TextField()
    state = models.CharField(max_length=9, choices=DeliveryState.choices, default=DeliveryState.QUEUED)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=500, blank=True)
    # When it is to be sent next; while it is being sent, when it counts as lost and is taken up again.
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "sending", "retrying"], next_attempt_at__isnull=False)
                | Q(state__in=["delivered", "dead"], next_attempt_at__isnull=True),
                name="delivery_waits_or_is_done",
            ),
            models.CheckConstraint(
                condition=Q(state="delivered", delivered_at__isnull=False)
                | ~Q(state="delivered") & Q(delivered_at__isnull=True),
                name="delivered_has_its_time",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["agent", "-created_at", "-uid"], name="delivery_newest"),
            models.Index(
                fields=["next_attempt_at"], condition=Q(next_attempt_at__isnull=False), name="delivery_due"
            ),
            models.Index(
                fields=["agent", "platform"], condition=Q(state="sending"), name="delivery_under_way"
            ),
            models.Index(fields=["id"], condition=Q(state="dead"), name="delivery_dead"),
            models.Index(fields=["platform", "id"], name="delivery_of_platform"),
        ]

    def __str__(self) -> str:
        return f"{self.target} ({self.state})"


class PersonErasure(models.Model):
    """A person's data on their way out. Once it is done, the row no longer tells who it was."""

    uid = models.UUIDField(unique=True, default=time_ordered_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE)
    platform = models.CharField(max_length=64, blank=True)
    user_id = models.CharField(max_length=512, blank=True)
    sessions = models.PositiveIntegerField(default=0)
    messages = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True) | Q(platform="", user_id=""),
                name="done_erasure_names_nobody",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["created_at"], condition=Q(finished_at__isnull=True), name="erasure_waiting"
            ),
        ]

    def __str__(self) -> str:
        return str(self.uid)
