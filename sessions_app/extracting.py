"""The sentences that carry a conversation, chosen by how they are said and by what they mean.

Deterministic: the same conversation gives the same points, on any machine.
"""

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sessions_app.points import Point
from sessions_app.sentences import ASSISTANT, OPEN, USER, Sentence
from sessions_app.tokens import estimate

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]

# So many are looked at closely; a conversation of any length costs no more than this.
CANDIDATES = 600
GRAMS = 3
GRAM_PLACES = 512
CENTRAL = 1.0
ALIKE = 0.72
REPEATED = 0.25


def choose(sentences: Iterable[Sentence], most: int, embed: Embed | None) -> list[Point]:
    """At most so many tokens of points, in order."""
    found = _open_questions(_once(sentences))
    candidates = sorted(found, key=lambda one: (-one.weight, -one.seq))[:CANDIDATES]
    candidates.sort(key=lambda one: one.seq)
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
    """What has a shape is kept the first time, with how often it came; a sentence said twice, once."""
    kept: dict[tuple[str, str], Sentence] = {}
    times: dict[tuple[str, str], int] = {}
    for one in sentences:
        key = (one.label, one.shape or one.text.casefold())
        times[key] = times.get(key, 0) + 1
        kept.setdefault(key, one)
    return [
        one
        if times[key] == 1 or not one.shape
        else replace(one, text=f"{one.text} ({times[key]} times)", weight=one.weight + REPEATED * times[key])
        for key, one in kept.items()
    ]


def _open_questions(sentences: Sequence[Sentence]) -> list[Sentence]:
    """What a user asked behind the last thing that an assistant said has no answer yet."""
    last = max((one.seq for one in sentences if one.label == ASSISTANT), default=0)
    return [
        replace(one, label=OPEN, weight=one.weight + 1.0)
        if one.label == USER and one.question and one.seq > last
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
    chosen: list[int] = []
    left = most
    for place in sorted(range(len(candidates)), key=lambda place: (-weights[place], place)):
        one = candidates[place]
        cost = estimate(f"- {one.label}: {one.text}") + 1
        if cost > left or weights[place] <= 0.5:
            continue
        if chosen and float((vectors[chosen] @ vectors[place]).max()) > ALIKE:
            continue
        chosen.append(place)
        left -= cost
    return set(chosen)


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
