"""What the demo's agents made of what was said: summaries, what they remember, a report for each week."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from gateway_app.admin.acting import acting_for
from sessions_app import condensing, memory, reflections
from sessions_app.commits import commit
from sessions_app.models import Agent, Session
from sessions_app.reflections import Scope
from sessions_app.triggers import IDLE, RESET

CONDENSED, LONG = 60, 24
WEEKS = 4
ABOUT = ("# About Ada", "", "- Lives in Lisbon, works from home.", "- Likes short answers.")
LEARNED = ("", "## Learned", "", "- Never any garlic.")
CALENDAR = "- The calendar may be changed when both sides are free."
# days ago, who wrote it, its lines from then on
VERSIONS: dict[str, tuple[tuple[int, str, tuple[str, ...]], ...]] = {
    "main": (
        (26, "ada", ABOUT),
        (17, "llm", (*ABOUT, *LEARNED, "- Reminders come ten minutes before.")),
        (9, "llm", (*ABOUT, *LEARNED, "- Reminders come fifteen minutes before.", CALENDAR)),
        (2, "ada", (*ABOUT[:3], "- In the office on Tuesdays.", *LEARNED,
                    "- Reminders come fifteen minutes before.", CALENDAR)),
    ),
    "concierge": (
        (20, "llm", ("## House", "", "- Breakfast from seven to eleven.", "- Late check-out costs 20 €.")),
        (6, "noor", ("## House", "", "- Breakfast from seven to ten.", "- Late check-out costs 20 €.",
                     "- The sauna is closed until December.")),
    ),
    "ops-bot": (
        (12, "noor", ("## Runbook", "", "1. Look at the last deploy first.", "2. Roll back before you dig.",
                      "", "`checkout` and `ledger` are never restarted together.")),
    ),
}  # fmt: skip


def tell(agents: Sequence[Agent], seed: int, now: datetime) -> None:
    for session in _long_ones(seed):
        condensing.consolidate(session.pk, _trigger(session), partial(_when, session, now))
    for agent in agents:
        _remember(agent, now)
        _report(agent, now)


def _long_ones(seed: int) -> list[Session]:
    found = Session.objects.filter(metadata__demo=seed, last_seq__gt=LONG).order_by("-pk")
    return list(found[:CONDENSED])


def _trigger(session: Session) -> str:
    return IDLE if session.ended_at is None else RESET


def _when(session: Session, now: datetime) -> datetime:
    return min(now, session.ended_at or session.updated_at)


def _remember(agent: Agent, now: datetime) -> None:
    if memory.newest(agent.pk) is not None:
        return
    for version, (days, author, lines) in enumerate(VERSIONS[agent.name]):
        at = now - timedelta(days=days)
        commit(partial(memory.write, acting_for(agent, at), "\n".join(lines), version, author, at))


def _report(agent: Agent, now: datetime) -> None:
    for weeks in range(WEEKS - 1, -1, -1):
        until = now - timedelta(weeks=weeks)
        scope = Scope(since=until - timedelta(weeks=1), until=until)
        trigger = reflections.DAILY if weeks else reflections.ASKED
        commit(reflections.write(agent, scope, trigger, until).save)
