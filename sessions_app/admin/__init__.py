from sessions_app.admin.messages import MessageAdmin
from sessions_app.admin.sessions import SessionAdmin

__all__ = ["MessageAdmin", "SessionAdmin"]
