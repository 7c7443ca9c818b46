"""Tables, one module for each capability: constraints and nothing else."""

from sessions_app.models.activity import ActivityMark, HourlyActivity, StorageSample
from sessions_app.models.jobs import JobState, OperatorJob
from sessions_app.models.memory import Consolidation, MemoryRevision, Reflection, Run, ScheduleState
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
from sessions_app.models.search import SearchDuty, SearchErasure, SearchPage, SearchSegment, SearchVector
from sessions_app.models.transfer import (
    Deletion,
    Import,
    ImportedRecord,
    ImportedSession,
    ImportState,
    RetentionRule,
    SessionSize,
)

__all__ = [
    "KEY_LENGTH",
    "ActivityMark",
    "Agent",
    "Consolidation",
    "ConsolidationJob",
    "Deletion",
    "HourlyActivity",
    "IdempotentAnswer",
    "Import",
    "ImportState",
    "ImportedRecord",
    "ImportedSession",
    "JobState",
    "Kind",
    "MemoryRevision",
    "Message",
    "OperatorJob",
    "Reflection",
    "RetentionRule",
    "Run",
    "ScheduleState",
    "SearchDuty",
    "SearchErasure",
    "SearchPage",
    "SearchSegment",
    "SearchVector",
    "Session",
    "SessionSize",
    "StorageSample",
    "time_ordered_id",
]
