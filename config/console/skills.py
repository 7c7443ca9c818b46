"""Skills for operators: rates, volumes and trends, phases, transitions, and recommendations tried live."""

from datetime import datetime
from typing import Any

from django.contrib.admin import site
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from gateway_app.admin.acting import acting_for
from sessions_app.access import Caller
from sessions_app.models import Agent
from skills_app import metrics, pictures, recommending, trends, workflow
from skills_app.models import SkillRollup
from skills_app.recommending import Question
from skills_app.selection import Selection

DAYS = 30
MOST_SKILLS = 100
MOST_PHASES = 12
MOST_QUERY = 2_000
AGENTS = 50


def view(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm("skills_app.view_skillrollup"):
        raise PermissionDenied
    agents = list(Agent.objects.order_by("name")[:AGENTS])
    agent = _chosen(agents, request.GET.get("agent", ""))
    context = {**site.each_context(request), "title": "Skills", "agents": agents, "agent": agent}
    if agent is not None:
        now = timezone.now()
        context |= found(acting_for(agent, now), request.GET, now)
    return TemplateResponse(request, "console/skills.html", context)


def _chosen(agents: list[Agent], given: str) -> Agent | None:
    """By default the first that has used any."""
    asked = next((agent for agent in agents if str(agent.pk) == given), None)
    if asked is not None:
        return asked
    busy = set(SkillRollup.objects.values_list("agent_id", flat=True).distinct())
    return next((agent for agent in agents if agent.pk in busy), agents[0] if agents else None)


def found(caller: Caller, given: Any, now: datetime) -> dict[str, Any]:
    skill, query = given.get("skill", "").replace("\0", ""), given.get("query", "").strip()[:MOST_QUERY]
    selection = Selection(caller)
    listed, together = metrics.counted(selection)
    course = {each["skill_name"]: each for each in _trends(caller, now)["items"]}
    analysis = workflow.analysis(selection)
    return {
        "summary": metrics.summary_of(listed, together),
        "skills": [_row(each, course.get(each["skill_name"])) for each in listed[:MOST_SKILLS]],
        "left_out": max(0, len(listed) - MOST_SKILLS),
        "skill": _one(listed, course, skill),
        "heatmap": _heatmap(analysis["heatmap"]),
        "transitions": drawn(pictures.transitions_svg(analysis["transitions"]))
        if analysis["transitions"]
        else "",
        "bottlenecks": [
            {**each, "percent": round(100 * each["abandonment_rate"])} for each in analysis["bottlenecks"][:8]
        ],
        "query": query,
        **_recommended(caller, query),
    }


def _recommended(caller: Caller, query: str) -> dict[str, Any]:
    if not query:
        return {}
    answer = recommending.recommend(caller, Question(query))
    return {"recommended": answer["items"], "recommended_note": answer["note"], "tried": True}


def _trends(caller: Caller, now: datetime) -> dict[str, Any]:
    return trends.analysis(caller, now.date(), DAYS, None)


def _row(each: dict[str, Any], course: dict[str, Any] | None) -> dict[str, Any]:
    days = [] if course is None else [day["finished"] for day in course["days"]]
    name = f"Uses a day in the last {DAYS} days, at most {max(days, default=0)}"
    return {
        **each,
        "spark": drawn(pictures.sparkline_svg(days, name)) if days else "",
        "trend": "" if course is None else course["rate_trend"],
    }


def _one(
    listed: list[dict[str, Any]], course: dict[str, dict[str, Any]], skill: str
) -> dict[str, Any] | None:
    each = next((each for each in listed if each["skill_name"] == skill), None)
    if each is None:
        return None
    trend = course.get(skill)
    return {**each, "picture": "" if trend is None else drawn(pictures.trend_svg(trend))}


def _heatmap(whole: dict[str, Any]) -> SafeString | str:
    if not whole["skills"]:
        return ""
    cells = [row[:MOST_PHASES] for row in whole["cells"][:MOST_SKILLS]]
    phases, skills = whole["phases"][:MOST_PHASES], whole["skills"][:MOST_SKILLS]
    return drawn(pictures.heatmap_svg({"skills": skills, "phases": phases, "cells": cells}))


def drawn(svg: str) -> SafeString:
    """The policy allows no styles within a page: the console's style sheet has the classes of pictures."""
    return mark_safe(svg.replace(pictures.STYLE, ""))  # noqa: S308 - every name in it is escaped
