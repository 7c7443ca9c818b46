"""What the head of a session's page says, all of it by index."""

from datetime import datetime
from typing import Any

from gateway_app import leases
from gateway_app.admin.acting import acting_for
from gateway_app.explaining import explain
from gateway_app.sources import BadSource, Source, describe
from sessions_app.models import ConsolidationJob, Session

MOST = 20


def header(session: Session, now: datetime) -> dict[str, Any]:
    decision = explain(acting_for(session.agent, now), session.uid)
    return {
        "source": described(session),
        "kinds": [kind for kind in _kinds(session) if kind[2]],
        "decision": decision,
        "policy": policy_text(decision["policy"]),
        "next_reset_at": _moment(decision["next_reset_at"]),
        "leases": list(leases.live(session, now).order_by("expires_at")[:MOST]),
        "previous": _one(uid=session.previous_id),
        "next": _one(previous_id=session.uid),
        "forked_from": _one(uid=session.forked_from_id),
        "forks": list(session.forks.order_by("pk")[:MOST]),
        "condensing": ConsolidationJob.objects.filter(session_id=session.pk).first(),
        "deliveries": list(session.delivery_set.defer("content").order_by("-pk")[:3]),
    }


def _kinds(session: Session) -> list[tuple[str, str, int]]:
    return [
        ("message", "message", session.messages_count),
        ("tool_call", "tool call", session.tool_calls_count),
        ("error", "error", session.errors_count),
        ("decision", "decision", session.decisions_count),
    ]


def described(session: Session) -> str:
    try:
        return describe(Source.from_json(session.source)) if session.source else ""
    except (BadSource, TypeError):
        # Imported from elsewhere: shown as far as it is known.
        return ""


def policy_text(policy: dict[str, Any] | None) -> str:
    """In words."""
    if policy is None:
        return "none: opened by a key alone"
    idle, hour = (
        f"{_span(policy['idle_minutes'])} idle",
        f"daily at {policy['at_hour']:02}:00 {policy['timezone']}",
    )
    words = {
        "none": "never ends",
        "idle": f"after {idle}",
        "daily": hour,
        "both": f"after {idle} or {hour}",
        "all": f"after {idle} and {hour}",
    }[policy["mode"]]
    return f"{words} ({policy['origin']})"


def _span(minutes: int) -> str:
    for size, unit in ((1440, "d"), (60, "h")):
        if minutes % size == 0:
            return f"{minutes // size} {unit}"
    return f"{minutes} min"


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _one(**which: Any) -> Session | None:
    if None in which.values():
        return None
    return (
        Session.objects.filter(**which)
        .only("pk", "title", "key", "created_at", "ended_at")
        .order_by("pk")
        .first()
    )
