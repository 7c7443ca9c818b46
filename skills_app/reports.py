"""The same figures as text, in the sections that readers of such reports know. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from skills_app.workflow_rules import BUCKETS, bucket

MARKS = {90: "█", 70: "▓", 50: "▒", 30: "░", 0: "·"}
NOT_USED = "-"
SIGNS = {"CRITICAL": "🔴 CRITICAL", "WARNING": "🟡 WARNING", "MONITOR": "🟢 MONITOR"}
MOST_SKILLS, MOST_PHASES = 15, 8

Data = Mapping[str, Any]


def metrics_report(summary: Data, metrics: Sequence[Data]) -> str:
    lines = [
        *_title("Skills Metrics Report", 60),
        f"Total Skills Tracked: {summary['total_skills']}",
        f"Total Invocations: {summary['total_invocations']}",
        f"Overall Completion Rate: {summary['overall_completion_rate']:.1f}%",
        f"Average Duration: {summary['avg_duration_seconds']:.1f}s",
        "",
        "Most Used Skills:",
        *(_used(each) for each in metrics[:5]),
        "",
        "Workflow Path Preferences:",
        *_paths(metrics[:3]),
        "",
        "Common Follow-up Actions:",
        *(f"  {line(action)}: {count}" for action, count in _actions(metrics)[:5]),
        "",
        "=" * 60,
    ]
    return "\n".join(lines)


def _used(each: Data) -> str:
    return (
        f"  {line(each['skill_name'])}: {each['total_invocations']} invocations "
        f"({each['completion_rate']:.1f}% complete, {each['avg_duration_seconds']:.1f}s avg)"
    )


def _paths(metrics: Iterable[Data]) -> list[str]:
    lines = []
    for each in metrics:
        if each["workflow_paths"]:
            lines.append(f"  {line(each['skill_name'])}:")
            lines += [f"    {line(path)}: {count} uses" for path, count in each["workflow_paths"].items()]
    return lines


def _actions(metrics: Iterable[Data]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for each in metrics:
        for action, count in each["follow_up_actions"].items():
            counts[action] = counts.get(action, 0) + count
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def workflow_report(analysis: Data, session: str | None, now: datetime) -> str:
    lines = [
        *_title("Workflow Correlation Report", 70),
        f"Session: {line(session) if session else 'All Sessions'}",
        f"Generated: {now:%Y-%m-%d %H:%M:%S}",
        "",
        *_section("1. Skill Effectiveness by Workflow Phase"),
        *_effectiveness(analysis["effectiveness"]),
        *_section("2. Workflow Bottlenecks", apart=True),
        *_bottlenecks(analysis["bottlenecks"]),
        *_section("3. Workflow Phase Transitions", apart=True),
        *_transitions(analysis["transitions"]),
        *_section("4. Recommendations by Phase", apart=True),
        *_recommendations(analysis),
        "",
        "",
        "=" * 70,
    ]
    return "\n".join(lines)


def _effectiveness(found: Sequence[Data]) -> list[str]:
    if not found:
        return ["No workflow data available yet."]
    lines = []
    rule = "  " + "-" * 65
    for phase, skills in groupby(found, lambda each: each["workflow_phase"]):
        lines += ["", f"📊 Phase: {line(phase).upper()}", rule]
        lines += [f"  {'Skill':<30} {'Rate':>8} {'Avg Time':>10} {'Total':>8}", rule]
        lines += [
            f"  {line(each['skill_name']):<30} {each['completion_rate']:>7.1f}% "
            f"{each['avg_duration_seconds']:>9.1f}s {each['total_invocations']:>8}"
            for each in list(skills)[:5]
        ]
    return lines


def _bottlenecks(found: Sequence[Data]) -> list[str]:
    if not found:
        return ["✅ No significant bottlenecks detected!"]
    return [
        "",
        "Phases with high abandonment rates (potential bottlenecks):",
        "",
        *(
            f"  {line(each['workflow_phase'])}: {each['abandonment_rate']:.1%} abandonment "
            f"(bottleneck score: {each['abandonment_rate']:.2f}) {SIGNS[each['level']]}"
            for each in found[:5]
        ),
    ]


def _transitions(found: Sequence[Data]) -> list[str]:
    if not found:
        return ["No phase transition data available yet."]
    return [
        "",
        "Most common phase transitions:",
        "",
        *(
            f"  {line(each['from_phase'])} ──[{each['count']}x, {line(each['most_common_skill'])}]──> "
            f"{line(each['to_phase'])}"
            for each in found[:8]
        ),
    ]


def _recommendations(analysis: Data) -> list[str]:
    if not analysis["effectiveness"]:
        return ["Insufficient data for recommendations."]
    return [
        "",
        "Top-performing skills for each phase:",
        "",
        *(
            f"  🎯 {line(each['workflow_phase']).upper()}: Use {line(each['skill_name'])} "
            f"({each['completion_rate']:.1f}% success rate)"
            for each in analysis["recommendations"]
        ),
    ]


def heatmap_report(heatmap: Data) -> str:
    if not heatmap["skills"]:
        return "No workflow data available for heatmap."
    phases = heatmap["phases"][:MOST_PHASES]
    legend = ", ".join(f"{MARKS[low]} {words}" for low, words in BUCKETS)
    lines = [
        *_title("Skill Usage Heatmap by Workflow Phase", 70),
        f"Legend: {legend}, {NOT_USED} not used",
        "",
        f"{'Skill':<20} " + "".join(f"{line(phase)[:8]:>10}" for phase in phases),
        " " * 21 + "─" * 10 * len(phases),
    ]
    for skill, rates in list(zip(heatmap["skills"], heatmap["cells"], strict=True))[:MOST_SKILLS]:
        shown = "".join(f"{_mark(rate):>10}" for rate in rates[: len(phases)])
        lines.append(f"{line(skill)[:20]:<20} {shown}")
    return "\n".join([*lines, *_left_out(heatmap), "", "", "=" * 70])


def _mark(rate: float | None) -> str:
    return NOT_USED if rate is None else f"{MARKS[bucket(rate)]} {rate:3.0f}%"


def _left_out(heatmap: Data) -> list[str]:
    skills, phases = len(heatmap["skills"]) - MOST_SKILLS, len(heatmap["phases"]) - MOST_PHASES
    more = [f"{count} more {name}" for count, name in ((skills, "skills"), (phases, "phases")) if count > 0]
    return ["", f"Not shown: {', '.join(more)}."] if more else []


def trends_report(trends: Data) -> str:
    lines = [
        *_title("Skill Trends Report", 70),
        f"Period: {trends['since']} to {trends['until']}",
        "",
        *_section("1. Trends"),
        *(_trend(each) for each in trends["items"]),
        *([] if trends["items"] else ["No skill was used in this period."]),
        *_section("2. Anomalies", apart=True),
        *(_anomalies(trends["items"]) or ["No day falls out of line."]),
        *_section("3. Failing Lately", apart=True),
        *(
            f"  {line(each['skill_name'])}: {each['completion_rate']:.1f}% of {each['finished']}"
            for each in trends["failing_lately"]
        ),
        *([] if trends["failing_lately"] else ["No skill fails lately."]),
        *_section("4. Not Used", apart=True),
        *(f"  {line(each['skill_name'])}: never used, considered {each['considered']} times"
          for each in trends["never_used"]),
        *(f"  {line(each['skill_name'])}: last used {each['last_invoked']}"
          for each in trends["unused_lately"]),
        *([] if trends["never_used"] or trends["unused_lately"] else ["Every known skill was used."]),
        *_section("5. Session Adoption", apart=True),
        f"Sessions with skills: {trends['adoption']['sessions']}",
        *(f"  {line(each['skill_name'])}: {each['sessions']} sessions ({each['share']:.1f}%)"
          for each in trends["adoption"]["skills"]),
        "",
        "",
        "=" * 70,
    ]  # fmt: skip
    return "\n".join(lines)


def _trend(each: Data) -> str:
    finished = sum(day["finished"] for day in each["days"])
    goes = f"rate {each['rate_trend']}, volume {each['volume_trend']}"
    return f"  {line(each['skill_name'])}: {finished} uses, {goes}"


def _anomalies(items: Iterable[Data]) -> list[str]:
    return [
        f"  {found['day']} {line(each['skill_name'])}: {found['kind']} {found['value']:.1f}, "
        f"usually {found['usual']:.1f} (z {found['z']:+.1f})"
        for each in items
        for found in each["anomalies"]
    ]


def line(text: str) -> str:
    """Names are any text: in a report each stays on its own line."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split()) or repr(text)


def _title(text: str, width: int) -> list[str]:
    return ["=" * width, text, "=" * width, ""]


def _section(text: str, *, apart: bool = False) -> list[str]:
    return [*(["", ""] if apart else []), "-" * 70, text, "-" * 70, ""]
