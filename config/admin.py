"""Found by the admin when it starts; the console itself is in its own folder."""

from config.console import accounts, deliveries, jobs, reflections, schedules, sessions

__all__ = ["accounts", "deliveries", "jobs", "reflections", "schedules", "sessions"]
