"""Found by the admin when it starts; the console itself is in its own folder."""

from config.console import accounts, jobs, schedules, sessions

__all__ = ["accounts", "jobs", "schedules", "sessions"]
