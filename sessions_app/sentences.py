"""What is said in a conversation, sentence by sentence, and how much each is worth keeping: pure rules.

The words that tell a request, a decision or a solution are mostly English; questions, numbers and names are
seen in any language. What the sentences mean is weighed elsewhere.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sessions_app.error_shapes import looks_failed, shape

USER, ASSISTANT, ERROR, TOOL, DECIDED, OPEN = "User", "Assistant", "Error", "Tool", "Decided", "Open question"
LOOKED_AT = 6000
SENTENCES_A_MESSAGE = 40
LONGEST = 320
# A sentence this short is a nod.
SHORTEST = 8

_FENCED = re.compile(r"```.*?(```|\Z)", re.DOTALL)
_BREAK = re.compile(r"\n+|(?<=[.!?…])[\"')\]]*\s+|(?<=[。\uff01\uff1f｡])")
_LEAD = re.compile(r"^(?:[-*+•>#]+\s+|\d+[.)]\s+|\[Message Time: [^\]]*\]\s*|\[image: [^\]]*\]\s*)+")
_LETTER = re.compile(r"[^\W\d_]")
_DETAIL = re.compile(r"\d|[A-Z]{2,}|\b\w+[/._]\w+|[\"“«「`]")
_MARKS = {
    "request": (
        r"\b(please|can you|could you|would you|i need|i want|i would like|i'd like|help me|make sure"
        r"|remind me|show me|tell me|find|fix|add|write|change|remove|book|send|bitte|kannst du|por favor"
        r"|puedes|peux-tu|pouvez-vous|s'il vous plaît)\b|请|帮我|ください|해 ?주세요"
    ),
    "fact": (
        r"\b(my name|i am|i'm|we are|i live|i work|i have|my \w+ is|i prefer|i like|i don't like|i never"
        r"|i always|remember that|deadline|birthday|allergic|the password|version|ich heiße|ich bin|me llamo"
        r"|je suis)\b|我叫|我是|我住"
    ),
    "decision": (
        r"\b(we('ll| will)|let's|i('ll| will)|decided|agreed|instead of|we should|the plan is|going with"
        r"|chose|from now on)\b"
    ),
    "solved": (
        r"\b(fixed|solved|resolved|works now|the (problem|cause|reason|issue|root cause) (was|is)|because"
        r"|turned out|caused by|the solution|it failed|done|finished|completed|installed|deployed|merged)\b"
    ),
    "filler": (
        r"^(sure|ok|okay|great|thanks|thank you|hi|hello|hey|of course|certainly|no problem|you're welcome"
        r"|let me know|happy to help|glad|sounds good|perfect|got it|yes|no|i hope this helps|feel free"
        r"|is there anything else|how can i help)\b.{0,60}$"
    ),
}
_MARK = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _MARKS.items()}


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


def sentences(spoken: Spoken) -> Iterator[Sentence]:
    if spoken.kind == "decision":
        why = f" (because: {_one_line(spoken.detail)})" if spoken.detail else ""
        yield Sentence(spoken.seq, DECIDED, _cut(_one_line(spoken.text) + why), 3.0)
    elif spoken.kind == "error":
        where = f" ({_one_line(spoken.detail)})" if spoken.detail else ""
        yield Sentence(spoken.seq, ERROR, _cut(_one_line(spoken.text) + where), 2.4, shape=shape(spoken.text))
    elif spoken.kind == "tool_call" or spoken.role == "tool":
        if looks_failed(spoken.text):
            label = f"{TOOL} {spoken.name}" if spoken.name else TOOL
            yield Sentence(spoken.seq, label, _cut(_one_line(spoken.text)), 1.9, shape=shape(spoken.text))
    elif spoken.role in ("user", "assistant"):
        yield from _said(spoken)


def split(text: str) -> list[str]:
    text = _FENCED.sub("\n", text[:LOOKED_AT])
    parts = (_one_line(_LEAD.sub("", part.strip())) for part in _BREAK.split(text) if part)
    return [part for part in parts if _LETTER.search(part)][:SENTENCES_A_MESSAGE]


def _said(spoken: Spoken) -> Iterator[Sentence]:
    label = USER if spoken.role == "user" else ASSISTANT
    for place, text in enumerate(split(spoken.text)):
        question = text.rstrip("\"'”)]").endswith(("?", "\uff1f"))
        weight = _weight(text, label, question=question, first=place == 0)
        yield Sentence(spoken.seq, label, _cut(text), weight, question)


def _weight(text: str, label: str, *, question: bool, first: bool) -> float:
    asked = question and label == USER
    if _MARK["filler"].search(text) and not asked and not _DETAIL.search(text):
        return 0.1
    weight = 1.0 if label == USER else 0.7
    # What an assistant asks is mostly politeness; what a user asks is what it is all about.
    weight += (0.9 if question else 0) if label == USER else (-0.2 if question else 0)
    weight += 0.9 if label == USER and _MARK["request"].search(text) else 0
    weight += 0.8 if label == USER and _MARK["fact"].search(text) else 0
    weight += 0.5 if _MARK["decision"].search(text) else 0
    weight += 0.7 if _MARK["solved"].search(text) else 0
    weight += 0.3 if _DETAIL.search(text) else 0
    # An answer begins with what it is about.
    weight += 0.3 if first else 0
    return weight if len(text) >= SHORTEST or not text.isascii() else weight * 0.4


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rsplit(" ", 1)[0].rstrip() + "…"
