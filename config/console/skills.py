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
from sessions_app.redaction import displayed
from skills_app import metrics, pictures, recommending, trends, workflow
from skills_app.models import SkillRollup
from skills_app.recommending import Question
from skills_app.selection import Selection
from skills_app.workflow_rules import BUCKETS

DAYS = 30
MOST_SKILLS = 100
MOST_PHASES = 12
MOST_TRANSITIONS = 10
MOST_QUERY = 2_000
AGENTS = 50
NOTED = 8


def view(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm("skills_app.view_skillrollup"):
        raise PermissionDenied
    agents = list(Agent.objects.order_by("name")[:AGENTS])
    agent = chosen_agent(request.GET.get("agent", ""))
    context = {**site.each_context(request), "title": "Skills", "agents": agents, "agent": agent}
    if agent is not None:
        context |= found(agent, request.GET, timezone.now())
    return TemplateResponse(request, "console/skills.html", context)


def chosen_agent(given: str) -> Agent | None:
    """By default the first that has used any."""
    if given.isascii() and given.isdigit() and len(given) < 19:
        asked = Agent.objects.filter(pk=int(given)).first()
        if asked is not None:
            return asked
    agents = list(Agent.objects.order_by("name")[:AGENTS])
    busy = set(SkillRollup.objects.values_list("agent_id", flat=True).distinct())
    return next((agent for agent in agents if agent.pk in busy), agents[0] if agents else None)


def found(agent: Agent, given: Any, now: datetime) -> dict[str, Any]:
    caller = acting_for(agent, now)
    selection = Selection(caller)
    listed, together = metrics.counted(selection)
    told = trends.analysis(caller, now.date(), DAYS, None)
    course = {each["skill_name"]: each for each in told["items"]}
    analysis = workflow.analysis(selection)
    return {
        "days": DAYS,
        "summary": metrics.summary_of(listed, together),
        "skills": [_row(each, course.get(each["skill_name"])) for each in listed[:MOST_SKILLS]],
        "left_out": max(0, len(listed) - MOST_SKILLS),
        "heatmap": _heatmap(analysis["heatmap"]),
        "buckets": [(f"l{low}", words.replace("-", " to ")) for low, words in BUCKETS],
        "picture": drawn(pictures.transitions_svg(analysis["transitions"]))
        if analysis["transitions"]
        else "",
        "transitions": analysis["transitions"][:MOST_TRANSITIONS],
        "bottlenecks": [
            {**each, "percent": 100 * each["abandonment_rate"]} for each in analysis["bottlenecks"][:NOTED]
        ],
        "best": analysis["recommendations"],
        "failing": told["failing_lately"][:NOTED],
        "unused": told["unused_lately"][:NOTED],
        "never_used": told["never_used"][:NOTED],
        **_tried(agent, caller, given, analysis["heatmap"]["phases"]),
    }


def _tried(agent: Agent, caller: Caller, given: Any, phases: list[str]) -> dict[str, Any]:
    query, phase = given.get("query", "").strip()[:MOST_QUERY], given.get("phase", "")
    phase = phase if phase in phases else ""
    asked = {"query": query, "phase": phase, "phases": phases}
    if not query:
        return asked
    answer, shown = recommending.recommend(caller, Question(query, workflow_phase=phase)), displayed(agent)
    items = [
        {**item, "user_query": shown(item["user_query"]), "of_hundred": 100 * item["score"]}
        for item in answer["items"]
    ]
    return {**asked, "tried": True, "recommended": items, "recommended_note": answer["note"]}


def _row(each: dict[str, Any], course: dict[str, Any] | None) -> dict[str, Any]:
    days = [] if course is None else [day["finished"] for day in course["days"]]
    name = f"Uses a day in the last {DAYS} days, at most {max(days, default=0)}"
    return {
        **each,
        "lately": sum(days),
        "spark": drawn(pictures.sparkline_svg(days, name)) if days else "",
        "rate_trend": "" if course is None else course["rate_trend"],
        "volume_trend": "" if course is None else course["volume_trend"],
    }


def _heatmap(whole: dict[str, Any]) -> SafeString | str:
    if not whole["skills"]:
        return ""
    cells = [row[:MOST_PHASES] for row in whole["cells"][:MOST_SKILLS]]
    phases, skills = whole["phases"][:MOST_PHASES], whole["skills"][:MOST_SKILLS]
    return drawn(pictures.heatmap_svg({"skills": skills, "phases": phases, "cells": cells}))


def drawn(svg: str) -> SafeString:
    """The policy allows no styles within a page: the console's style sheet has the classes of pictures."""
    return mark_safe(svg.replace(pictures.STYLE, ""))  # noqa: S308 - every name in it is escaped
