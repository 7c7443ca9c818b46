"""Small words for the console's templates."""

from datetime import datetime

from django import template
from django.template.defaultfilters import date

from sessions_app.admin import cells
from sessions_app.admin.transcript import Entry
from sessions_app.models import Session

register = template.Library()

BRIEF, NAME = 90, 60
ICONS = {
    "user": "person", "assistant": "smart_toy", "system": "settings", "tool": "build",
    "tool_call": "build", "error": "error", "decision": "flag",
}  # fmt: skip


@register.filter
def who(entry: Entry, speaker: str = "") -> str:
    if entry.kind != "message":
        return {"tool_call": "Tool call", "error": "Error", "decision": "Decision"}[entry.kind]
    name = entry.name or (speaker if entry.role == "user" else "")
    return f"{entry.role.capitalize()} · {name}" if name else entry.role.capitalize()


@register.filter
def icon(entry: Entry) -> str:
    return ICONS[entry.role if entry.kind == "message" else entry.kind]


@register.filter
def speaker(session: Session) -> str:
    """Who it is that talks, where it is one person alone."""
    source = session.source or {}
    return str(source.get("user_name") or "")[:NAME] if session.chat_type == "dm" else ""


@register.filter
def brief(text: str) -> str:
    """Arguments on one line."""
    line = " ".join(text.split())
    return line if len(line) <= BRIEF else line[: BRIEF - 1] + "…"


@register.filter
def moment(text: str | None) -> str:
    """A time as the API tells it, for people."""
    return "" if text is None else date(datetime.fromisoformat(text), "j M Y, H:i")


register.filter("spaced", cells.spaced)
register.filter("lasted", cells.lasted)
