"""What the policies of one agent mean for its sessions, at one time."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from gateway_app.models import Lease
from gateway_app.reset_rules import Chosen, Decision, Policy, choose, decide
from sessions_app.access import Resets
from sessions_app.episodes import Ending
from sessions_app.models import Agent, Session
from sessions_app.objects import is_subject_to_resets, utc
from sessions_app.sessions import row_of

NOTHING = Decision(reset=False, reason=None, reasons=(), blocked_by=(), next_at=None)

Policies = Mapping[tuple[str, str], Policy]


@dataclass(frozen=True, slots=True)
class ResetOutlook:
    """`stored` is the copy of the policies in the agent's row; most requests never need to read it."""

    stored: str
    timezone: str
    now: datetime

    def chosen(self, session: Mapping[str, Any]) -> Chosen | None:
        policies = policies_of(self.stored, self.timezone)
        return choose(policies, session["platform"], session["chat_type"], ZoneInfo(self.timezone))

    def decide(self, session: Mapping[str, Any], leases: Mapping[str, datetime]) -> Decision:
        chosen = self.chosen(session)
        if chosen is None or not is_subject_to_resets(session):
            return NOTHING
        last_activity = utc(session["active_at"] or session["created_at"])
        return decide(chosen.policy, last_activity, self.now, leases)

    def look(self, session: Mapping[str, Any]) -> Decision:
        """The same by what stands in the row alone: that there is a live lease, and not which."""
        until = session["leased_until"]
        return self.decide(session, {} if until is None else {"": utc(until)})

    def ending(self, session: Mapping[str, Any]) -> Ending | None:
        """What a policy that is due ends it with."""
        decision = self.look(session)
        if decision.reason is None:
            return None
        kept = {"policy": policy_shown(self.chosen(session)), "reasons": decision.reasons}
        return Ending(decision.reason, orjson.dumps(kept).decode())

    def next_at(self, session: Mapping[str, Any]) -> datetime | None:
        return self.look(session).next_at

    def blocked_by(self, sessions: Sequence[int]) -> Mapping[int, list[str]]:
        names: dict[int, list[str]] = defaultdict(list)
        live = Lease.objects.filter(session_id__in=sessions, expires_at__gt=self.now)
        for session, name in live.order_by("name").values_list("session_id", "name"):
            names[session].append(name)
        return names


def policy_shown(chosen: Chosen | None) -> dict[str, Any] | None:
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


def check_at(resets: Resets, session: Session) -> datetime | None:
    """When the sweep is to look at an open session: in time for whatever may end it, or in vain before."""
    due, noted = resets.next_at(row_of(session)), session.reset_check_at
    return min(due, noted) if due and noted else due or noted


def outlook_of(agent: Agent, now: datetime) -> ResetOutlook:
    return ResetOutlook(agent.reset_policies, agent.timezone, now)


@lru_cache(maxsize=1024)
def policies_of(stored: str, timezone: str) -> Policies:
    return {
        (platform, chat_type): Policy(mode, idle_minutes, at_hour, ZoneInfo(own_timezone or timezone))
        for platform, chat_type, mode, idle_minutes, at_hour, own_timezone in orjson.loads(stored)
    }
