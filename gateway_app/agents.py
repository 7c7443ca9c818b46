"""The agent's own settings."""

from collections.abc import Mapping
from typing import Any
from zoneinfo import available_timezones

from django.conf import settings

from gateway_app import targets
from gateway_app.targets import BadTarget
from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.engines import LLM
from sessions_app.models import Agent
from sessions_app.objects import iso
from sessions_app.problems import invalid

# What moves the hour of the daily report.
REFLECTS_ANEW = frozenset({"timezone", "reflection_hour", "reflection_enabled"})


def read(caller: Caller) -> dict[str, Any]:
    return shown(Agent.objects.get(pk=caller.agent_id))


def change(caller: Caller, changes: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in changes.items() if value is not None}
    if "timezone" in given:
        check_timezone(given["timezone"])
        # Its hours come at other times now: the sweep looks anew at who is due.
        given["reset_recheck_after"] = 0
    if "reflection_target" in given:
        given["reflection_target"] = check_target(given["reflection_target"])
    if given.get("consolidation_engine") == LLM and not settings.LLM_MODEL:
        raise invalid(
            ["body", "consolidation_engine"], "No model is configured (DAYBOOK_LLM_MODEL).", "engine"
        )
    if REFLECTS_ANEW & given.keys():
        given["next_reflection_at"] = None
    if given:
        commit(lambda: Agent.objects.filter(pk=caller.agent_id).update(**given))
    return read(caller)


def check_timezone(name: str) -> None:
    if name not in available_timezones():
        raise invalid(
            ["body", "timezone"], "It is not the name of a time zone, like Europe/Berlin.", "timezone"
        )


def check_target(text: str) -> str:
    """Only its form: a platform may be connected later. Empty is nowhere."""
    if not text.strip():
        return ""
    try:
        target = targets.parse(text)
    except BadTarget as error:
        raise invalid(["body", "reflection_target"], str(error), "target") from None
    if target.platform == targets.ORIGIN:
        raise invalid(["body", "reflection_target"], "A report comes from no session.", "target")
    return text


def shown(agent: Agent) -> dict[str, Any]:
    return {
        "name": agent.name,
        "timezone": agent.timezone,
        "token_budget": agent.token_budget,
        "consolidate_after_minutes": agent.consolidate_after_minutes,
        "consolidation_engine": agent.consolidation_engine,
        "reflection_enabled": agent.reflection_enabled,
        "reflection_hour": agent.reflection_hour,
        "reflection_target": agent.reflection_target or None,
        "next_reflection_at": iso(agent.next_reflection_at) if agent.reflection_enabled else None,
        "created_at": iso(agent.created_at),
    }
