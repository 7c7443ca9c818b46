from sessions_app.admin.messages import MessageAdmin
from sessions_app.admin.sessions import SessionAdmin
from sessions_app.admin.transfer import DeletionAdmin, ImportAdmin, RetentionRuleAdmin

__all__ = ["DeletionAdmin", "ImportAdmin", "MessageAdmin", "RetentionRuleAdmin", "SessionAdmin"]
