"""What a session hands over to the one after it: its own summary first, then what it had been given, within
one bound. Each line was made once, where it was said; here lines are only kept or left."""

from sessions_app.models import Session
from sessions_app.tokens import estimate

MOST_TOKENS = 1500
EARLIER = "Earlier:"


def handed_over(summary: str, carried: str) -> str:
    own = _within(summary, MOST_TOKENS)
    left = MOST_TOKENS - estimate(own) - estimate(EARLIER) - 1
    before = _within("\n".join(line for line in carried.splitlines() if line != EARLIER), left)
    if not before:
        return own
    return f"{own}\n{EARLIER}\n{before}" if own else before


def told(summary: str, carried: str) -> str | None:
    """The summary in the answer of a window: of this session, behind what it was given."""
    if not carried:
        return summary or None
    return f"From earlier sessions:\n{carried}" + (f"\n\nIn this session:\n{summary}" if summary else "")


def pass_on(session: Session) -> None:
    """Runs inside `commit`. Those that followed meanwhile get what they should have been given."""
    passing = [session]
    while passing:
        giver = passing.pop()
        carried = handed_over(giver.summary, giver.carried)
        for successor in Session.objects.filter(previous__uid=giver.uid, agent_id=giver.agent_id):
            if successor.carried != carried:
                Session.objects.filter(pk=successor.pk).update(carried=carried)
                successor.carried = carried
                passing.append(successor)


def _within(text: str, most: int) -> str:
    """Whole lines from the beginning, as many as fit."""
    kept, left = [], most
    for line in text.splitlines():
        left -= estimate(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join(kept)
