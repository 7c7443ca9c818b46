"""How well search finds: 100 questions in other words than their answers, over 2 000 messages.

They stand in `asked.tsv`, in words of our own: half of them keep a word or two of their answer, `near`,
as people do who remember what it was about; half have none of its telling words, `far`. The other
messages are made of what such conversations are about, so that each answer has neighbours that are near
it. `python -m bench.finding` stores them on the database of the environment and prints recall@5 and the
mean reciprocal rank of each mode."""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import django

MESSAGES, LIMIT, FIVE = 2_000, 50, 5
MODES = ("text", "semantic", "hybrid")
ASKED = [line.split("\t") for line in Path(__file__).with_name("asked.tsv").read_text().splitlines()]

SUBJECTS = (
    "the database", "the backup", "the cake", "the heating", "the release", "the API key", "our flight",
    "the payment", "the cat", "the memory of the server", "the tax papers",
    "the meeting with the designers", "the wifi", "the tomatoes in the garden", "the customer in Oslo",
    "the unit tests", "the office key", "the birthday party", "the feature flags", "the dishwasher",
    "the log files", "the new colleague", "the car", "the product search", "the piano lesson",
    "the error messages", "the gym", "the rate limit", "the bread", "the web shop", "the train",
    "the doctor's advice", "the quarterly figures", "the passwords", "the bicycle", "the mail queue",
    "the school play", "the printer", "the containers", "the insurance", "the phone number",
    "the time zone", "the barbecue", "the French manual", "the rent", "the uploads", "the sofa",
    "the recommendation model", "the login of admins", "the mobile app",
)  # fmt: skip
SAID = (
    "Can you remind me about {} tomorrow?",
    "I looked at {} today and nothing has changed.",
    "Who is responsible for {} at the moment?",
    "Thanks, that is all I wanted to know about {}.",
    "We should talk about {} again next week.",
    "I have written a short note about {} for the others.",
    "There was a question about {} in the morning round.",
    "Please add {} to the list of open points.",
    "The costs of {} are still not clear to me.",
    "Nobody has complained about {} so far.",
    "Mara has asked whether {} is finished.",
    "I am not sure whether {} is worth the effort.",
    "Last year we had trouble with {} as well.",
    "Could you find the document that describes {}?",
    "The plan for {} was sent to everybody by mail.",
    "It took me two hours to understand {}.",
    "Jonas knows more about {} than I do.",
    "We may have to postpone {} because of the holidays.",
    "Good news: {} works as expected now.",
    "I will take care of {} after lunch.",
    "What is the next step for {}?",
    "Somebody should check {} before the weekend.",
    "The pictures of {} are in the shared folder.",
    "For {} there is a checklist with nine entries.",
    "My first impression of {} was rather good.",
    "Let us keep {} as simple as possible.",
    "I forgot to mention {} in the summary.",
    "The reason for the delay of {} is unknown.",
    "Is there a cheaper way to do {}?",
    "We agreed to leave {} as it is for now.",
    "An hour ago I got a message about {} from support.",
    "The description of {} has two spelling mistakes.",
    "I prefer to hear about {} in person.",
    "There is a short video that explains {}.",
    "The team was happy with {} in the end.",
    "Let me know when {} is on your desk.",
    "I moved {} to the top of the list.",
    "Before we start with {}, we need a decision.",
)


def corpus() -> list[str]:
    """Answers spread evenly among the others, in the same order each time."""
    others = [said.format(subject) for said, subject in product(SAID, SUBJECTS)]
    each = len(others) // len(ASKED)
    found = []
    for place, (_, _, answer) in enumerate(ASKED):
        found += [answer, *others[place * each : (place + 1) * each]]
    return found


def quality(ranks: Sequence[int | None]) -> dict[str, float]:
    """From the place of each right answer, 1 for the first, None where it was not found."""
    five = sum(rank is not None and rank <= FIVE for rank in ranks) / len(ranks)
    return {"recall@5": five, "MRR": sum(1 / rank for rank in ranks if rank) / len(ranks)}


def main() -> None:
    from django.utils import timezone

    from bench.fill import _store_messages, _store_sessions
    from sessions_app.search import indexing, vectors

    texts, begin = corpus(), datetime.now(UTC) - timedelta(days=30)
    [session] = _store_sessions([len(texts)], begin)
    _store_messages(_rows(session, texts, begin))
    while indexing.step(timezone.now()) or vectors.step(timezone.now()):
        pass
    json.dump({mode: _told(mode) for mode in MODES}, sys.stdout)


def _told(mode: str) -> dict[str, float]:
    ranks = [(kind, _rank(mode, question, answer)) for kind, question, answer in ASKED]
    of_kind = {
        f"recall@5, {wanted}": quality([rank for kind, rank in ranks if kind == wanted])["recall@5"]
        for wanted in ("near", "far")
    }
    return {**quality([rank for _, rank in ranks]), **of_kind}


def _rows(session: Any, texts: list[str], begin: datetime) -> Iterator[tuple[Any, ...]]:
    from sessions_app.entries import entry

    for seq, text in enumerate(texts, 1):
        at = begin + timedelta(minutes=seq)
        made = entry({"role": "user", "content": text}, now=at, zone=ZoneInfo("UTC"))
        yield (session.agent_id, session.id, seq, *made[:6], at, "")


def _rank(mode: str, question: str, answer: str) -> int | None:
    from bench.searching import caller
    from sessions_app.search.filters import Filters
    from sessions_app.search.find import Asked, search

    items = search(caller(), Asked(question, mode, Filters(), "rank", LIMIT))["items"]
    return next((place for place, item in enumerate(items, 1) if item["content"] == answer), None)


if __name__ == "__main__":
    django.setup()
    main()
