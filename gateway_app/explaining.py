"""Why a session was ended or was not: the decision of this moment, with everything it rests on."""

from typing import Any
from uuid import UUID

from gateway_app import leases
from gateway_app.reset_rules import Chosen
from gateway_app.resolving import outlook
from sessions_app.access import Caller
from sessions_app.objects import iso
from sessions_app.sessions import find, row_of


def explain(caller: Caller, uid: UUID) -> dict[str, Any]:
    session, resets = find(caller, uid), outlook(caller)
    row = row_of(session)
    live = dict(leases.live(session, resets.now).values_list("name", "expires_at"))
    decision = resets.decide(row, live)
    return {
        "policy": _shown(resets.chosen(row)),
        "last_activity_at": iso(session.active_at or session.created_at),
        "reset": decision.reset,
        "reason": decision.reason,
        "reasons": decision.reasons,
        "blocked_by": decision.blocked_by,
        "next_reset_at": iso(decision.next_at),
    }


def _shown(chosen: Chosen | None) -> dict[str, Any] | None:
    if chosen is None:
        return None
    policy = chosen.policy
    return {
        "origin": chosen.origin,
        "mode": policy.mode,
        "idle_minutes": policy.idle_minutes,
        "at_hour": policy.at_hour,
        "timezone": policy.zone.key,
    }
