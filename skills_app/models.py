"""Uses of skills, and what is counted of them in the same transaction."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from sessions_app.models import Agent, Session, time_ordered_id

LABEL_LENGTH = 512


class State(models.TextChoices):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    ABANDONED = "abandoned"


class SkillInvocation(models.Model):
    """One use of a skill. Texts that were not given are empty."""

    uid = models.UUIDField(unique=True, default=time_ordered_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    # An erased session takes its invocations along; `erasing.py` takes them out of the counts first.
    session = models.ForeignKey(Session, on_delete=models.CASCADE, null=True, blank=True, db_index=False)
    skill_name = models.CharField(max_length=LABEL_LENGTH)
    workflow_path = models.CharField(max_length=LABEL_LENGTH, blank=True)
    workflow_phase = models.CharField(max_length=LABEL_LENGTH, blank=True)
    user_query = models.TextField(blank=True)
    # JSON texts, answered as they lie there.
    alternatives_considered = models.TextField(default="[]")
    follow_up_actions = models.TextField(default="[]")
    selection_rank = models.IntegerField(null=True, blank=True)
    state = models.CharField(max_length=9, choices=State.choices, default=State.RUNNING)
    error_type = models.CharField(max_length=LABEL_LENGTH, blank=True)
    invoked_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    # Whole microseconds, so that sums are the same in any order.
    duration_us = models.BigIntegerField(null=True, blank=True)
    # Of an imported one: what it is known by, so that importing twice adds nothing.
    import_key = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001 - null is unique to nobody

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["agent", "import_key"],
                condition=Q(import_key__isnull=False),
                name="skill_import_once",
            ),
            models.CheckConstraint(
                condition=Q(state="running", finished_at__isnull=True)
                | Q(state__in=["completed", "failed", "abandoned"], finished_at__isnull=False),
                name="skill_finished_has_its_time",
            ),
            models.CheckConstraint(
                condition=Q(duration_us__isnull=True) | Q(duration_us__gte=0), name="skill_duration_forward"
            ),
            models.CheckConstraint(condition=~Q(skill_name=""), name="skill_has_a_name"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["agent", "-invoked_at", "-uid"], name="skill_newest"),
            models.Index(fields=["agent", "skill_name", "-invoked_at"], name="skill_by_name"),
            models.Index(
                fields=["session", "invoked_at"], condition=Q(session__isnull=False), name="skill_of_session"
            ),
            # Found by the time-out, and counted where running ones are shown: never many.
            models.Index(fields=["agent", "invoked_at"], condition=Q(state="running"), name="skill_running"),
        ]

    def __str__(self) -> str:
        return f"{self.skill_name} ({self.state})"


class QueryVector(models.Model):
    """The query of an invocation as a vector: by meaning, or by letters until there is one by meaning."""

    invocation = models.OneToOneField(
        SkillInvocation, on_delete=models.CASCADE, primary_key=True, related_name="query_vector"
    )
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    # Once more beside the invocation's, so that a search reads this table alone.
    session_pk = models.BigIntegerField(null=True)
    skill_name = models.CharField(max_length=LABEL_LENGTH)
    model = models.CharField(max_length=128)
    vector = models.BinaryField()
    # Grows with each commit of an agent: what came after a look is found by it (`stamps.py`).
    stamp = models.BigIntegerField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["agent", "model", "stamp"], name="skill_vector_newest"),
            models.Index(fields=["agent", "model", "skill_name"], name="skill_vector_by_skill"),
        ]

    def __str__(self) -> str:
        return f"{self.skill_name} ({self.model})"


class SkillRollup(models.Model):
    """What finished of one skill in one phase on one day (UTC); under `rollup_rules.EVER`, on all days."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    day = models.DateField()
    skill_name = models.CharField(max_length=LABEL_LENGTH)
    workflow_phase = models.CharField(max_length=LABEL_LENGTH, blank=True)
    completed = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0)
    abandoned = models.BigIntegerField(default=0)
    # Of the completed ones: their sum, and how many fall into each class of `durations.py`.
    timed = models.BigIntegerField(default=0)
    duration_us = models.BigIntegerField(default=0)
    durations = models.TextField(default="{}")
    ranked = models.BigIntegerField(default=0)
    rank_sum = models.BigIntegerField(default=0)
    ranked_first = models.BigIntegerField(default=0)
    first_completed = models.BigIntegerField(default=0)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["agent", "day", "skill_name", "workflow_phase"], name="skill_rollup_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.skill_name} {self.workflow_phase} {self.day}"


class SkillTally(models.Model):
    """How often a label came with a skill: workflow path, error type, follow-up action, alternative."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    day = models.DateField()
    kind = models.CharField(max_length=11)
    skill_name = models.CharField(max_length=LABEL_LENGTH)
    workflow_phase = models.CharField(max_length=LABEL_LENGTH, blank=True)
    label = models.CharField(max_length=LABEL_LENGTH)
    count = models.BigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "skill tallies"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["agent", "day", "kind", "skill_name", "workflow_phase", "label"],
                name="skill_tally_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.skill_name}: {self.label}"


class SkillAdoption(models.Model):
    """In which sessions a skill was used to its end; those without a session are in none."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    skill_name = models.CharField(max_length=LABEL_LENGTH)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, db_index=False)
    uses = models.BigIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["session", "skill_name"], name="skill_adopted_once"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["agent", "skill_name", "session"], name="skill_adoption_by_skill"),
        ]

    def __str__(self) -> str:
        return self.skill_name


class SkillReach(models.Model):
    """The number of sessions that a skill was used in; under an empty name, of those with any skill."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_index=False)
    skill_name = models.CharField(max_length=LABEL_LENGTH, blank=True)
    sessions = models.BigIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["agent", "skill_name"], name="skill_reach_once"),
        ]

    def __str__(self) -> str:
        return f"{self.skill_name}: {self.sessions}"
