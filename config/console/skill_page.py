"""The page of one skill: rates and volumes over time, by phase, what goes wrong, and its newest uses."""

from datetime import datetime
from typing import Any

from django.contrib.admin import site
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from config.console import charts
from config.console.skills import DAYS, chosen_agent
from gateway_app.admin.acting import acting_for
from sessions_app.access import Caller
from sessions_app.models import Agent
from sessions_app.redaction import displayed
from skills_app import metrics, trends, workflow
from skills_app.models import SkillInvocation
from skills_app.selection import Selection

NEWEST, LABELS = 15, 8
STATES = {"completed": "db-good", "failed": "db-bad", "abandoned": "db-warn"}
# Where the eye should stop: days that are unlike those before them.
UNLIKE = {
    "rate": "completed {value:.0f} % instead of {usual:.0f} %",
    "volume": "{value:.0f} uses instead of {usual:.1f}",
}


def view(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm("skills_app.view_skillrollup"):
        raise PermissionDenied
    agent = chosen_agent(request.GET.get("agent", ""))
    name = request.GET.get("skill", "").replace("\0", "")
    now = timezone.now()
    found = None if agent is None else one(agent, name, now)
    if found is None:
        raise Http404
    context = {**site.each_context(request), "title": name, "agent": agent, **found}
    return TemplateResponse(request, "console/skill.html", context)


def one(agent: Agent, name: str, now: datetime) -> dict[str, Any] | None:
    caller = acting_for(agent, now)
    selection = Selection(caller, skill_name=name)
    told = metrics.all_metrics(selection)
    if not name or not told:
        return None
    return {
        "skill": told[0],
        **_course(caller, name, now),
        "phases": workflow.analysis(selection)["effectiveness"],
        "labels": _labels(told[0]),
        "uses": _uses(agent, selection),
    }


def _course(caller: Caller, name: str, now: datetime) -> dict[str, Any]:
    told = trends.analysis(caller, now.date(), DAYS, name)
    share = next((each["share"] for each in told["adoption"]["skills"]), None)
    shown: dict[str, Any] = {"share": share, "days": DAYS, "failing": (told["failing_lately"] or [None])[0]}
    if not told["items"]:
        return shown
    course = told["items"][0]
    days = [(datetime.fromisoformat(day["day"]), day) for day in course["days"]]
    volume = [
        charts.Bar(f"{at:%-d %b}", day["finished"], day["finished"] - day["completed"]) for at, day in days
    ]
    rates = [(f"{at:%-d %b}", day["completion_rate"]) for at, day in days]
    return shown | {
        "course": course,
        "volume": charts.bars(volume, "Uses a day", marked="not completed"),
        "rates": charts.rates(rates, "Completed of each hundred, by day"),
        "anomalies": [
            {"day": datetime.fromisoformat(each["day"]), "said": UNLIKE[each["kind"]].format(**each)}
            for each in course["anomalies"]
        ],
    }


def _labels(told: dict[str, Any]) -> list[dict[str, Any]]:
    """Counts by label, the most frequent first, each list on a scale of its own."""
    titles = {
        "common_errors": "What went wrong",
        "follow_up_actions": "What was done afterwards",
        "workflow_paths": "In which workflows",
    }
    found = []
    for name, title in titles.items():
        counts = sorted(told[name].items(), key=lambda pair: (-pair[1], pair[0]))[:LABELS]
        if counts:
            rows = [{"label": label, "count": count, "most": counts[0][1]} for label, count in counts]
            found.append({"title": title, "rows": rows})
    return found


def _uses(agent: Agent, selection: Selection) -> list[dict[str, Any]]:
    shown = displayed(agent)
    newest = selection.invocations().select_related("session").order_by("-invoked_at", "-pk")[:NEWEST]
    return [_use(row, shown(row.user_query)) for row in newest]


def _use(row: SkillInvocation, query: str) -> dict[str, Any]:
    return {
        "row": row,
        "query": query,
        "kind": STATES.get(row.state, ""),
        "seconds": None if row.duration_us is None else row.duration_us / 1e6,
    }
