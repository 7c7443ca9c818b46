"""The agent's own settings."""

from collections.abc import Mapping
from typing import Any
from zoneinfo import available_timezones

from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.models import Agent
from sessions_app.objects import iso
from sessions_app.problems import invalid


def read(caller: Caller) -> dict[str, Any]:
    return shown(Agent.objects.get(pk=caller.agent_id))


def change(caller: Caller, changes: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in changes.items() if value is not None}
    if "timezone" in given:
        check_timezone(given["timezone"])
        # Its hours come at other times now: the sweep looks anew at who is due.
        given["reset_recheck_after"] = 0
    if given:
        commit(lambda: Agent.objects.filter(pk=caller.agent_id).update(**given))
    return read(caller)


def check_timezone(name: str) -> None:
    if name not in available_timezones():
        raise invalid(
            ["body", "timezone"], "It is not the name of a time zone, like Europe/Berlin.", "timezone"
        )


def shown(agent: Agent) -> dict[str, Any]:
    return {
        "name": agent.name,
        "timezone": agent.timezone,
        "token_budget": agent.token_budget,
        "consolidate_after_minutes": agent.consolidate_after_minutes,
        "created_at": iso(agent.created_at),
    }
