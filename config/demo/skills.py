"""Uses of skills for the demo: phases follow one another, some skills fail, one is getting worse."""

from datetime import datetime, timedelta
from random import Random

from gateway_app.admin.acting import acting_for
from sessions_app.models import Agent, Session
from skills_app.tracking import Use, bring_in, import_key_of

DAYS = 30
AT_ONCE = 500
# skill, phase, how often of a hundred it is completed, seconds, what is asked for
SKILLS = (
    ("search-flights", "research", 93, 4.0, "find a flight to Porto on Friday"),
    ("compare-hotels", "research", 81, 9.0, "which hotel is close to the station"),
    ("draft-itinerary", "planning", 76, 14.0, "plan three days in Vienna"),
    ("check-calendar", "planning", 97, 1.2, "am I free on Thursday afternoon"),
    ("book-table", "booking", 58, 21.0, "book a table for four tonight"),
    ("pay-invoice", "booking", 44, 33.0, "pay the invoice of the hotel"),
    ("send-summary", "follow-up", 99, 0.8, "send everybody the plan"),
    ("file-expenses", "follow-up", 72, 12.0, "put the taxi on the expenses"),
)
ERRORS = ("timeout", "declined", "not_found")


def invocations(number: int, seed: int, now: datetime) -> int:
    random, stored = Random(seed), 0  # noqa: S311 - it makes up stories
    for agent in Agent.objects.filter(name__in=("main", "concierge")).order_by("pk"):
        sessions = list(
            Session.objects.filter(agent=agent).order_by("-pk").values_list("pk", flat=True)[:200]
        )
        uses = [use for _ in range(max(1, number // 8)) for use in _course(random, sessions, now)]
        for start in range(0, len(uses), AT_ONCE):
            stored += bring_in(acting_for(agent, now), uses[start : start + AT_ONCE])
    return stored


def _course(random: Random, sessions: list[int], now: datetime) -> list[Use]:
    """One task from its first phase to wherever it got."""
    at = now - timedelta(days=random.triangular(0.05, DAYS, 3))
    session, uses = random.choice(sessions) if sessions else None, []
    for phase in ("research", "planning", "booking", "follow-up"):
        skill = random.choice([each for each in SKILLS if each[1] == phase])
        use = _use(random, skill, session, at, (now - at).days)
        uses.append(use)
        at += timedelta(seconds=random.uniform(20, 400))
        if use.state == "abandoned":
            break
    return [use for use in uses if use.finished_at and use.finished_at <= now]


def _use(
    random: Random, skill: tuple[str, str, int, float, str], session: int | None, at: datetime, days_ago: int
) -> Use:
    name, phase, rate, seconds, query = skill
    # What books tables has been getting worse lately.
    rate -= 25 if name == "book-table" and days_ago < 7 else 0
    roll = random.uniform(0, 100)
    state = "completed" if roll < rate else random.choice(("failed", "abandoned"))
    lasted = random.lognormvariate(0, 0.5) * seconds
    return Use(
        skill_name=name, invoked_at=at, session_pk=session, workflow_path="trip", workflow_phase=phase,
        user_query=query, selection_rank=random.choice((1, 1, 1, 2, 3)), state=state,
        finished_at=at + timedelta(seconds=lasted), duration_us=round(lasted * 1e6),
        error_type=random.choice(ERRORS) if state == "failed" else "",
        import_key=import_key_of(name, at, str(session)),
    )  # fmt: skip
