"""Tables, one module for each capability: constraints and nothing else."""

from sessions_app.models.activity import ActivityMark, HourlyActivity, StorageSample
from sessions_app.models.jobs import JobState, OperatorJob
from sessions_app.models.record import (
    KEY_LENGTH,
    Agent,
    ConsolidationJob,
    IdempotentAnswer,
    Kind,
    Message,
    Session,
    time_ordered_id,
)

__all__ = [
    "KEY_LENGTH",
    "ActivityMark",
    "Agent",
    "ConsolidationJob",
    "HourlyActivity",
    "IdempotentAnswer",
    "JobState",
    "Kind",
    "Message",
    "OperatorJob",
    "Session",
    "StorageSample",
    "time_ordered_id",
]
