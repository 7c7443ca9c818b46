"""Skills over time, read for one question."""

from datetime import date, timedelta
from typing import Any

from sessions_app.access import Caller
from skills_app import trend_rules as rules
from skills_app.metrics import all_metrics, reached
from skills_app.models import SkillTally
from skills_app.rollup_rules import ALTERNATIVE, EVER
from skills_app.selection import Selection


def analysis(caller: Caller, until: date, days: int, skill_name: str | None) -> dict[str, Any]:
    since = until - timedelta(days=days - 1)
    # What is usual was learnt before the period as well.
    learnt = since - timedelta(days=rules.PAST_DAYS)
    by_day = Selection(caller, since=learnt, until=until, skill_name=skill_name).by_day()
    used = sorted(skill for skill, cells in by_day.items() if max(cells) >= since)
    known = all_metrics(Selection(caller, skill_name=skill_name))
    return {
        "since": since.isoformat(),
        "until": until.isoformat(),
        "items": [{"skill_name": skill, **rules.trend(by_day[skill], since, until)} for skill in used],
        "never_used": _never_used(caller, {each["skill_name"] for each in known}, skill_name),
        "unused_lately": [
            {"skill_name": each["skill_name"], "last_invoked": each["last_invoked"]}
            for each in sorted(known, key=lambda each: each["last_invoked"])
            if each["last_invoked"][:10] < since.isoformat()
        ],
        "failing_lately": [
            {"skill_name": skill, **found}
            for skill in sorted(by_day)
            if (found := rules.failing(by_day[skill], until)) is not None
        ],
        "adoption": adoption(caller, skill_name),
        "tests": rules.TESTS,
    }


def _never_used(caller: Caller, used: set[str], skill_name: str | None) -> list[dict[str, Any]]:
    """Shown as an alternative, and never taken."""
    shown: dict[str, int] = {}
    for tally in SkillTally.objects.filter(agent_id=caller.agent_id, day=EVER, kind=ALTERNATIVE):
        shown[tally.label] = shown.get(tally.label, 0) + tally.count
    return [
        {"skill_name": name, "considered": count}
        for name, count in sorted(shown.items(), key=lambda pair: (-pair[1], pair[0]))
        if name not in used and skill_name in (None, name)
    ]


def adoption(caller: Caller, skill_name: str | None = None) -> dict[str, Any]:
    """In how many of the sessions that use skills at all."""
    reach = reached(caller)
    sessions = reach.pop("", 0)
    return {
        "sessions": sessions,
        "skills": [
            {"skill_name": name, "sessions": count, "share": 100 * count / sessions}
            for name, count in sorted(reach.items(), key=lambda pair: (-pair[1], pair[0]))
            if skill_name in (None, name) and sessions
        ],
    }
