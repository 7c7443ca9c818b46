"""What is said in a conversation, passage by passage, and how much each is worth keeping: pure rules.

What the passages mean is weighed elsewhere.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from sessions_app import cues
from sessions_app.error_shapes import essence, looks_failed, shape
from sessions_app.passages import SHORT, cut, one_line, passages, width

USER, ASSISTANT, ERROR, TOOL, DECIDED = "User", "Assistant", "Error", "Tool", "Decided"
# Behind the label of whoever asked what nobody has answered yet.
OPEN = ", open question"
# What a user says in one breath is told in one; an answer may be long, and parts of it are enough.
LEAST = {USER: 160, ASSISTANT: 60}
RAISED = 0.4
LONGEST_NOD = 100

_QUESTION = re.compile(r"[?\uff1f][\"'”\u2019»)\]]*(?:\s|$)|[吗嗎呢][。\s]*$|ですか[。\s]*$|까요?[.\s]*$")
_DETAIL = re.compile(r"\d|[A-Z]{2,}|\b\w+[/._]\w+|[\"“«「`#]")
# What is looked for again: an amount, a time, a day, an address, a place in a file.
_HARD = re.compile(
    r"\d{1,2}[:h]\d\d|\d+(?:[.,]\d+)*\s?(?:€|\$|£|%|eur|euro|usd|kg|km|°)|[€$£]\s?\d"
    r"|\d{4}-\d\d-\d\d|\d\s?[年月日号元]"
    r"|\b\d{1,2}(?:st|nd|rd|th|\.)? (?:of )?(?:jan|feb|mar|mär|apr|ma[yi]|jun|jul|aug|sep|o[ck]t|nov|de[cz])"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|\w@\w|https?://|[#№]\s?\d"
)
# A line of a stack or of a log: where something happened, seldom what.
_TRACE = re.compile(r"^(?:File \"|at [\w.$]+\(|Traceback |\d{4}-\d\d-\d\d[T ]\d\d:|\w{3} \d\d \d\d:)")


@dataclass(frozen=True, slots=True)
class Sentence:
    seq: int
    label: str
    text: str
    # Of how it is said, before what it means is known.
    weight: float
    question: bool = False
    # For what may come many times and is kept once.
    shape: str = ""


@dataclass(frozen=True, slots=True)
class Spoken:
    """One entry of the record, as far as it can be condensed."""

    seq: int
    kind: str
    role: str
    text: str
    name: str = ""
    detail: str = ""


def sentences(conversation: Iterable[Spoken]) -> Iterator[Sentence]:
    """In order. What answers a question or mends a failure is worth more than it says by itself."""
    asked = failed = False
    first = True
    for spoken in conversation:
        found = list(_of(spoken))
        if spoken.kind == "message" and spoken.role == "user":
            asked = any(one.question or cues.REQUEST.search(one.text.lower()) for one in found)
            found, first = (_raised(found, _says) if first else found), first and not found
        elif spoken.kind == "message" and spoken.role == "assistant":
            answered = asked and any(map(_says, found))
            mended = failed and any(map(_mends, found))
            found = _raised(found, _says) if answered else found
            found = _raised(found, _mends) if mended else found
            asked, failed = asked and not answered, failed and not mended
        else:
            failed = failed or any(one.shape for one in found)
        yield from found


def _says(one: Sentence) -> bool:
    return one.weight >= 0.6


def _mends(one: Sentence) -> bool:
    return cues.SOLVED.search(one.text.lower()) is not None


def _raised(found: list[Sentence], which: Callable[[Sentence], bool]) -> list[Sentence]:
    """The first of them: what a message begins with is what it is about."""
    place = next((place for place, one in enumerate(found) if which(one)), None)
    if place is None:
        return found
    raised = replace(found[place], weight=found[place].weight + RAISED)
    return [*found[:place], raised, *found[place + 1 :]]


def _of(spoken: Spoken) -> Iterator[Sentence]:
    if spoken.kind == "decision":
        why = f" (because: {one_line(spoken.detail)})" if spoken.detail else ""
        yield Sentence(spoken.seq, DECIDED, cut(one_line(spoken.text) + why), 3.0)
    elif spoken.kind == "error":
        where = f" ({one_line(spoken.detail)})" if spoken.detail else ""
        yield Sentence(spoken.seq, ERROR, cut(essence(spoken.text) + where), 2.4, shape=shape(spoken.text))
    elif spoken.kind == "tool_call" or spoken.role == "tool":
        if looks_failed(spoken.text):
            label = f"{TOOL} {spoken.name}" if spoken.name else TOOL
            yield Sentence(spoken.seq, label, cut(essence(spoken.text)), 1.9, shape=shape(spoken.text))
    elif spoken.role in ("user", "assistant"):
        label = USER if spoken.role == "user" else ASSISTANT
        for text in passages(spoken.text, LEAST[label], _idle):
            question = _QUESTION.search(text) is not None
            yield Sentence(spoken.seq, label, text, _weight(text, label, question=question), question)


def _idle(text: str) -> bool:
    if width(text) > LONGEST_NOD:
        return False
    low = text.lower()
    return bool(cues.NOD.fullmatch(low) or (cues.POLITE.match(low) and not _DETAIL.search(text)))


def _weight(text: str, label: str, *, question: bool) -> float:
    if _TRACE.match(text):
        return 0.2
    if _idle(text):
        return 0.1
    low, detail = text.lower(), _DETAIL.search(text) is not None
    weight = _asked(low, question=question) if label == USER else _answered(low, question=question)
    weight += 0.5 if cues.DECISION.search(low) else 0
    weight += 0.3 if detail else 0
    weight += 0.4 if detail and _HARD.search(low) else 0
    # So few words seldom mean anything without what was said before.
    return weight if detail or width(text) >= SHORT else weight - 0.5


def _asked(low: str, *, question: bool) -> float:
    weight = 1.0 + (0.6 if question else 0)
    weight += 0.8 if cues.REQUEST.search(low) else 0
    weight += 0.7 if cues.FACT.search(low) else 0
    weight += 1.0 if cues.LASTING.search(low) else 0
    return weight + (0.4 if cues.SOLVED.search(low) else 0)


def _answered(low: str, *, question: bool) -> float:
    # What an assistant asks is mostly politeness.
    weight = 0.7 - (0.4 if question else 0)
    weight += 0.8 if cues.SOLVED.search(low) else 0
    return weight - (0.6 if cues.ABOUT_TO.search(low) else 0)
