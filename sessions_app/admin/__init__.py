from sessions_app.admin.messages import MessageAdmin
from sessions_app.admin.sessions import SessionList

__all__ = ["MessageAdmin", "SessionList"]
