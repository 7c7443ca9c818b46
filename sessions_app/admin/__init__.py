from sessions_app.admin.consolidations import ConsolidationAdmin, ConsolidationJobAdmin, RunAdmin
from sessions_app.admin.memory import MemoryRevisionAdmin
from sessions_app.admin.messages import MessageAdmin
from sessions_app.admin.sessions import SessionList
from sessions_app.admin.transfer import DeletionAdmin, ImportAdmin, RetentionRuleAdmin

__all__ = [
    "ConsolidationAdmin",
    "ConsolidationJobAdmin",
    "DeletionAdmin",
    "ImportAdmin",
    "MemoryRevisionAdmin",
    "MessageAdmin",
    "RetentionRuleAdmin",
    "RunAdmin",
    "SessionList",
]
