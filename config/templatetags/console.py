"""Small words for the console's templates."""

from django import template

from sessions_app.admin import cells
from sessions_app.admin.transcript import Entry

register = template.Library()

BRIEF = 90


@register.filter
def who(entry: Entry) -> str:
    if entry.kind != "message":
        return {"tool_call": "Tool call", "error": "Error", "decision": "Decision"}[entry.kind]
    return f"{entry.role.capitalize()} · {entry.name}" if entry.name else entry.role.capitalize()


@register.filter
def brief(text: str) -> str:
    """Arguments on one line."""
    line = " ".join(text.split())
    return line if len(line) <= BRIEF else line[: BRIEF - 1] + "…"


register.filter("spaced", cells.spaced)
register.filter("lasted", cells.lasted)
