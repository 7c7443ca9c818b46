"""Tables, one module for each capability: constraints and nothing else."""

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
    "Agent",
    "ConsolidationJob",
    "Deletion",
    "IdempotentAnswer",
    "Import",
    "ImportState",
    "ImportedRecord",
    "ImportedSession",
    "Kind",
    "Message",
    "RetentionRule",
    "Session",
    "SessionSize",
    "time_ordered_id",
]
