from sessions_app.admin.memory import (
    ConsolidationAdmin,
    ConsolidationJobAdmin,
    MemoryRevisionAdmin,
    ReflectionAdmin,
    RunAdmin,
)
from sessions_app.admin.messages import MessageAdmin
from sessions_app.admin.sessions import SessionList

__all__ = [
    "ConsolidationAdmin",
    "ConsolidationJobAdmin",
    "MemoryRevisionAdmin",
    "MessageAdmin",
    "ReflectionAdmin",
    "RunAdmin",
    "SessionList",
]
