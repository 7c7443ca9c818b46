"""The self-reflection report, out of its figures: as data and as Markdown. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sessions_app.reflecting import SHOWN, SLOW_SECONDS, Figures

NOTHING = "No conversation history to reflect on yet."
COUNTED = (
    "entries", "messages", "user_messages", "responses", "errors", "decisions", "tool_calls",
    "tool_failures", "low_confidence", "hedged",
)  # fmt: skip
HEALTHY = "Conversations look healthy. Keep up the good work."

Stats = dict[str, Any]
Tail = Callable[[Mapping[str, Any]], str]


def stats(figures: Figures, before: Figures | None = None, skills: Sequence[Mapping[str, Any]] = ()) -> Stats:
    """`before` are the figures of the period, or of as many entries, before; `skills` those that failed."""
    found: Stats = {
        **_counts(figures),
        "sessions": len(figures.sessions),
        "first_at": figures.first and figures.first.isoformat(),
        "last_at": figures.last and figures.last.isoformat(),
        "low_confidence_items": figures.low,
        "hedged_items": figures.hedged,
        "error_items": figures.errors,
        "repeated_errors": figures.shapes(),
        "topics": figures.topics(),
        "tools": figures.tools(),
        "skills": [dict(skill) for skill in skills],
        "by_day": [{"day": day, **_day(figures, day)} for day in sorted(figures.by_day)],
        "before": None if before is None else _counts(before) | {"sessions": len(before.sessions)},
    }
    found["insights"] = insights(found)
    return found


def insights(found: Stats) -> list[str]:
    if not found["entries"]:
        return []
    return list(_insights(found)) or [HEALTHY]


def linked(found: Stats, address: str = "/api/v1/messages/{}") -> str:
    """The report, and what makes links of the times in its lines: Markdown goes by the text in brackets.

    Of several in one second the first has that name; the others say where they are by themselves.
    """
    named = _named(found)

    def tail(item: Mapping[str, Any]) -> str:
        message_id = item["message_id"]
        own = named[item["created_at"][:19]] == message_id
        return "" if own else f" ([message]({address.format(message_id)}))"

    places = [f"[{time}]: {address.format(message)}" for time, message in named.items()]
    many = [
        f"- {what}: {' '.join(f'[{place}]({address.format(one)})' for place, one in enumerate(ids, 1))}"
        for what, ids in _findings(found)
    ]
    where = "\n".join(["### Messages", *many]) if many else ""
    return "\n\n".join(filter(None, [markdown(found, tail), where, "\n".join(places)]))


def markdown(found: Stats, tail: Tail = lambda item: "") -> str:
    """Without links: as it is read in a chat."""
    if not found["entries"]:
        return NOTHING
    parts = [
        "## Self-Reflection Report",
        _reviewed(found),
        _section(
            "Low-Confidence Responses",
            found["low_confidence"],
            [
                f"- {_at(item)} confidence={item['confidence']:.0%}: {item['text']}{tail(item)}"
                for item in found["low_confidence_items"]
            ],
            "None found — all responses above threshold.",
        ),
        _section(
            "Errors",
            found["errors"],
            [f"- {_at(item)} {item['text']}{tail(item)}" for item in found["error_items"]],
            "No errors recorded.",
        ),
        _topics(found["topics"]),
        *_more(found, tail),
        "### Insights\n" + "\n".join(f"- {insight}" for insight in found["insights"]),
    ]
    return "\n\n".join(parts)


def _named(found: Stats) -> dict[str, str]:
    named: dict[str, str] = {}
    for name in ("low_confidence_items", "error_items", "hedged_items"):
        for item in found[name]:
            named.setdefault(item["created_at"][:19], item["message_id"])
    return named


def _findings(found: Stats) -> Iterator[tuple[str, Sequence[str]]]:
    """What stands on several messages, as it is called above, and the newest of those."""
    for topic in found["topics"]:
        yield f'"{topic["word"]}"', topic["message_ids"]
    for error in found["repeated_errors"]:
        yield error["example"], error["message_ids"]
    for tool in found["tools"]:
        if tool["failed_message_ids"]:
            yield f"{tool['tool']}, failed", tool["failed_message_ids"]
        if tool["slow_message_ids"]:
            yield f"{tool['tool']}, slow", tool["slow_message_ids"]


def _reviewed(found: Stats) -> str:
    return (
        f"Reviewed {found['entries']} recent entries: {found['user_messages']} user messages, "
        f"{found['responses']} responses, {found['errors']} errors."
    )


def _counts(figures: Figures) -> dict[str, int]:
    return {name: figures.counts[name] for name in COUNTED}


def _day(figures: Figures, day: str) -> dict[str, int]:
    return {name: figures.by_day[day][name] for name in ("entries", "errors")}


def _at(item: Mapping[str, Any]) -> str:
    return f"[{item['created_at'][:19]}]"


def _section(title: str, count: int, lines: Sequence[str], empty: str) -> str:
    return "\n".join([f"### {title} ({count})", *lines]) if count else f"### {title}\n{empty}"


def _topics(topics: Sequence[Mapping[str, Any]]) -> str:
    lines = [f'- "{topic["word"]}" ({topic["mentions"]} mentions)' for topic in topics]
    return "### Recurring Topics\n" + ("\n".join(lines) or "No strong patterns detected.")


def _more(found: Stats, tail: Tail) -> Iterator[str]:
    """Only where there is something to tell."""
    if found["hedged"]:
        lines = [
            f"- {_at(item)} “{item['phrase']}”: {item['text']}{tail(item)}" for item in found["hedged_items"]
        ]
        yield "\n".join([f"### Hedged Responses ({found['hedged']})", *lines])
    if found["repeated_errors"]:
        lines = [f"- {one['count']} times: {one['example']}" for one in found["repeated_errors"]]
        yield "\n".join(["### Repeated Errors", *lines])
    failing = [tool for tool in found["tools"] if tool["failures"]][:SHOWN]
    if failing:
        lines = [f"- {tool['tool']}: {tool['failures']} of {tool['calls']} calls failed" for tool in failing]
        yield "\n".join(["### Failing Tools", *lines])
    slow = [tool for tool in found["tools"] if (tool["slowest_seconds"] or 0) >= SLOW_SECONDS][:SHOWN]
    if slow:
        lines = [
            f"- {tool['tool']}: {tool['slowest_seconds']:.1f} s at worst, "
            f"{tool['average_seconds']:.1f} s on average"
            for tool in slow
        ]
        yield "\n".join(["### Slow Tools", *lines])
    if found["skills"]:
        lines = [
            f"- {one['skill']}: {one['failures']} of {one['uses']} uses failed" for one in found["skills"]
        ]
        yield "\n".join(["### Failing Skills", *lines])
    if found["before"] is not None and found["before"]["entries"]:
        yield _compared(found)


def _compared(found: Stats) -> str:
    shown = {
        "entries": "Entries", "user_messages": "User messages", "errors": "Errors",
        "low_confidence": "Low-confidence responses", "tool_failures": "Failed tool calls",
    }  # fmt: skip
    lines = [
        f"- {title}: {found[name]} ({found[name] - found['before'][name]:+d})"
        for name, title in shown.items()
    ]
    return "\n".join(["### Compared With Before", *lines])


def _insights(found: Stats) -> Iterator[str]:
    if found["low_confidence"]:
        yield "Consider studying topics where confidence was low."
    if found["errors"]:
        yield "Review error patterns for recurring infrastructure issues."
    if found["topics"]:
        word = found["topics"][0]["word"]
        yield f'User frequently asks about "{word}" — consider deepening knowledge here.'
    for tool in found["tools"][:1]:
        if tool["failures"] >= 2 and tool["failures"] * 2 >= tool["calls"]:
            yield f"The tool {tool['tool']} fails more often than it works."
    for error in found["repeated_errors"][:1]:
        if error["count"] >= 3:
            yield f"One error came {error['count']} times: {error['example']}"
