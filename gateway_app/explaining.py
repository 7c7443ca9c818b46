"""Why a session was ended or was not: the decision, with everything it rests on."""

from typing import Any
from uuid import UUID

import orjson

from gateway_app import leases
from gateway_app.reset_outlook import policy_shown
from gateway_app.resolving import outlook
from sessions_app.access import Caller
from sessions_app.episodes import BY_POLICY
from sessions_app.models import Session
from sessions_app.objects import iso
from sessions_app.sessions import find, row_of


def explain(caller: Caller, uid: UUID) -> dict[str, Any]:
    """Of this moment; of a session that has ended, that which ended it."""
    session, resets = find(caller, uid), outlook(caller)
    row = row_of(session)
    live = dict(leases.live(session, resets.now).values_list("name", "expires_at"))
    decision = resets.decide(row, live)
    return {
        "policy": policy_shown(resets.chosen(row)),
        "last_activity_at": iso(session.active_at or session.created_at),
        "reset": decision.reset,
        "reason": decision.reason,
        "reasons": decision.reasons,
        "blocked_by": decision.blocked_by,
        "next_reset_at": iso(decision.next_at),
        "ended_at": iso(session.ended_at),
        "end_reason": session.end_reason or None,
        **_kept(session),
    }


def _kept(session: Session) -> dict[str, Any]:
    if session.end_decision is not None:
        kept: dict[str, Any] = orjson.loads(session.end_decision)
        return kept
    # Brought in from elsewhere: the reason is all that is known.
    return {"reasons": [session.end_reason]} if session.end_reason in BY_POLICY else {}
