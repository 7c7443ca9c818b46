"""The sentences that carry a conversation, chosen by how they are said and by what they mean.

Deterministic: the same conversation gives the same points, on any machine.
"""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sessions_app.points import Point
from sessions_app.sentences import ASSISTANT, ERROR, OPEN, USER, Sentence
from sessions_app.tokens import estimate

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]
# By whom, and what: the same key says the same.
Key = tuple[str, str]

# So many are looked at closely; a conversation of any length costs no more than this.
CANDIDATES = 600
MOST_KEPT = 12_000
GRAMS = 3
GRAM_PLACES = 512
CENTRAL = 1.0
# Above it two say the same, if they name the same things. Whatever is like something chosen already weighs
# less, by as much.
ALIKE = 0.75
RELATED = 0.35
REPETITION = 2.0
# A request and its answer have words in common, and both are wanted.
OF_ANOTHER = 0.6
REPEATED = 0.25
# Of each token: what says as much in fewer words leaves room for more.
COST = 0.006
LEAST_WEIGHT = 0.7
# Whether there is anything else is a question that nobody waits for an answer to.
ASKED_IN_EARNEST = 0.2


_DETAILS = re.compile(r"\d+(?:[.,:]\d+)*|\b[A-Z][\w-]+|[\"“«「`][^\"“”«»「」`]+")


def choose(sentences: Iterable[Sentence], most: int, embed: Embed | None) -> list[Point]:
    """At most so many tokens of points, in order."""
    found = _open_questions(_once(sentences))
    heaviest = sorted(range(len(found)), key=lambda place: (-found[place].weight, -place))[:CANDIDATES]
    candidates = [found[place] for place in sorted(heaviest)]
    if not candidates:
        return []
    vectors = meanings([one.text for one in candidates], embed)
    weights = _weighed(candidates, vectors)
    chosen = _picked(candidates, vectors, weights, most)
    return [
        Point(one.seq, one.label, one.text, round(float(weights[place]), 4))
        for place, one in enumerate(candidates)
        if place in chosen
    ]


def meanings(texts: Sequence[str], embed: Embed | None) -> Vectors:
    """By meaning and by letters: the one knows English best, the other any script."""
    grams = _grams(texts)
    if embed is None:
        return grams
    return np.hstack([embed(texts), grams]) / np.float32(np.sqrt(2))


def _once(sentences: Iterable[Sentence]) -> list[Sentence]:
    """What has a shape is kept the first time, with how often it came; a sentence said twice, once.

    A failed call that was recorded as an error too is told as the error, which says where it was.
    """
    kept: dict[Key, Sentence] = {}
    times: Counter[Key] = Counter()
    for one in sentences:
        key = (one.label, one.shape or one.text.casefold())
        kept.setdefault(key, one)
        times[key] += bool(one.shape)
        if len(kept) > MOST_KEPT:
            kept = _heaviest(kept)
    errors = {shape for label, shape in times if label == ERROR}
    return [
        one
        if times[key] < 2
        else replace(one, text=f"{one.text} ({times[key]} times)", weight=one.weight + REPEATED * times[key])
        for key, one in kept.items()
        if not one.shape or one.label == ERROR or one.shape not in errors
    ]


def _heaviest(kept: dict[Key, Sentence]) -> dict[Key, Sentence]:
    """Half of them, still in order: a conversation may be longer than the memory of this machine."""
    places = sorted(enumerate(kept), key=lambda item: (-kept[item[1]].weight, -item[0]))[: MOST_KEPT // 2]
    return {key: kept[key] for _, key in sorted(places)}


def _open_questions(sentences: Sequence[Sentence]) -> list[Sentence]:
    """What a user asked behind the last thing that an assistant said has no answer yet; nor has what the
    assistant asked last, where nobody said anything behind it."""
    answered = max((one.seq for one in sentences if one.label == ASSISTANT), default=0)
    last = max((one.seq for one in sentences if one.label in (USER, ASSISTANT)), default=0)
    return [
        replace(one, label=one.label + OPEN, weight=one.weight + 1.0)
        if one.question
        and one.weight >= ASKED_IN_EARNEST
        and (one.seq > answered if one.label == USER else one.seq == last)
        else one
        for one in sentences
    ]


def _weighed(candidates: Sequence[Sentence], vectors: Vectors) -> NDArray[np.float64]:
    """How near each is to what all of it is about."""
    base = np.array([one.weight for one in candidates], np.float64)
    centre = (vectors * base[:, None].astype(np.float32)).sum(axis=0)
    length = float(np.linalg.norm(centre))
    nearness = vectors @ (centre / length) if length else np.zeros(len(candidates), np.float32)
    # Rounded, so that the last bit of another processor's arithmetic changes no choice.
    found: NDArray[np.float64] = base + CENTRAL * nearness.astype(np.float64)
    return found.round(4)


def _picked(
    candidates: Sequence[Sentence], vectors: Vectors, weights: NDArray[np.float64], most: int
) -> set[int]:
    """The heaviest first, each time seen beside what was chosen before."""
    costs = np.array([estimate(f"- {one.label}: {one.text}") + 1 for one in candidates])
    weights = weights - COST * costs
    speakers = np.array([one.label for one in candidates])
    details = [frozenset(_DETAILS.findall(one.text)) for one in candidates]
    chosen: set[int] = set()
    repeated = np.zeros(len(candidates), np.float64)
    open_to = np.ones(len(candidates), bool)
    left = most
    while True:
        worth = weights - REPETITION * np.maximum(repeated - RELATED, 0)
        open_to &= (costs <= left) & (worth > LEAST_WEIGHT)
        if not open_to.any():
            return chosen
        # The first of equals: the order is the conversation's.
        place = int(np.where(open_to, worth, -np.inf).argmax())
        chosen.add(place)
        open_to[place] = False
        left -= int(costs[place])
        near = (vectors @ vectors[place]).astype(np.float64).round(4)
        for other in np.flatnonzero(open_to & (near > ALIKE)).tolist():
            # "Ada is eight" and "Bob is nine" are alike in all but what matters; two such questions are one.
            open_to[other] = not (candidates[other].question or details[other] <= details[place])
        repeated = np.maximum(repeated, np.where(speakers == speakers[place], near, near * OF_ANOTHER))


def _grams(texts: Sequence[str]) -> Vectors:
    """Counts of runs of letters at places named by a checksum: Python's own hash is another each time."""
    found = np.zeros((len(texts), GRAM_PLACES), np.float32)
    for row, text in enumerate(texts):
        folded = f" {text.casefold()} "
        for start in range(len(folded) - GRAMS + 1):
            found[row, zlib.crc32(folded[start : start + GRAMS].encode()) % GRAM_PLACES] += 1
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    unit: Vectors = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
    return unit
