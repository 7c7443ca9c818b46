"""Reset policies: rows that operators see, and their copy in the agent's row that every request reads."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.db.models import QuerySet

from gateway_app.agents import check_timezone
from gateway_app.models import ResetPolicy
from sessions_app import paging
from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.models import Agent
from sessions_app.problems import Conflict, NotFound

# The copy is read with every request: it must stay short.
MOST = 200
COPIED = ("platform", "chat_type", "mode", "idle_minutes", "at_hour", "timezone")


def put(caller: Caller, given: Mapping[str, Any]) -> ResetPolicy:
    """Set the policy of a place: whole, whatever it was before."""
    values: dict[str, Any] = {name: "" if value is None else value for name, value in given.items()}
    if values["timezone"]:
        check_timezone(values["timezone"])
    place = {"platform": values.pop("platform"), "chat_type": values.pop("chat_type")}

    def work() -> ResetPolicy:
        of_agent = _locked(caller.agent_id)
        if of_agent.exclude(**place).count() >= MOST:
            raise Conflict(f"An agent has at most {MOST} reset policies.")
        policy, _ = of_agent.update_or_create({"agent_id": caller.agent_id, **values}, **place)
        copy(caller.agent_id)
        return policy

    return commit(work)


def remove(caller: Caller, policy_id: str) -> None:
    known = policy_id.isascii() and policy_id.isdigit() and len(policy_id) < 19

    def work() -> None:
        if not known or not _locked(caller.agent_id).filter(pk=int(policy_id)).delete()[0]:
            raise NotFound("There is no such reset policy.")
        copy(caller.agent_id)

    commit(work)


def copy(agent_id: int) -> None:
    """Runs inside `commit`, with every change of a policy: the sweep then looks anew at who is due."""
    rows = ResetPolicy.objects.filter(agent_id=agent_id).order_by("pk").values_list(*COPIED)
    Agent.objects.filter(pk=agent_id).update(
        reset_policies=orjson.dumps(list(rows)).decode(), reset_recheck_after=0
    )


def listed(caller: Caller, cursor: str | None, limit: int) -> paging.Page:
    found = ResetPolicy.objects.filter(agent_id=caller.agent_id)
    if cursor is not None:
        found = found.filter(pk__gt=paging.decode(cursor, paging.seq)[0])
    return paging.page(
        list(found.order_by("pk")[: limit + 1]),
        limit,
        lambda rows: [shown(policy) for policy in rows],
        lambda policy: paging.encode(policy.pk),
    )


def shown(policy: ResetPolicy) -> dict[str, Any]:
    return {
        "id": policy.pk,
        "platform": policy.platform or None,
        "chat_type": policy.chat_type or None,
        "mode": policy.mode,
        "idle_minutes": policy.idle_minutes,
        "at_hour": policy.at_hour,
        "timezone": policy.timezone or None,
    }


def _locked(agent_id: int) -> QuerySet[ResetPolicy]:
    """Changes of one agent's policies come one by one, so that no copy misses one."""
    Agent.objects.select_for_update(no_key=True).get(pk=agent_id)
    return ResetPolicy.objects.filter(agent_id=agent_id)
