"""The order by rank, and of two orders one. Pure."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from sessions_app.search.query import Document, Query

Key = TypeVar("Key", bound=Hashable)

# Okapi BM25, with its usual constants.
SATURATION, LENGTH = 1.2, 0.75
# Reciprocal rank fusion, with its usual constant.
FUSION = 60


def scores(query: Query, documents: Sequence[Document]) -> list[float]:
    """How much each document is about what was asked, among these documents."""
    counts = [[atom.count(document) for atom in query.wanted] for document in documents]
    lengths = [len(document.terms) or 1 for document in documents]
    average = sum(lengths) / len(lengths) if lengths else 1
    having = [sum(1 for row in counts if row[place]) for place in range(len(query.wanted))]
    weights = [math.log(1 + (len(documents) - one + 0.5) / (one + 0.5)) for one in having]
    return [
        sum(
            weight
            * count
            * (SATURATION + 1)
            / (count + SATURATION * (1 - LENGTH + LENGTH * length / average))
            for weight, count in zip(weights, row, strict=True)
        )
        for row, length in zip(counts, lengths, strict=True)
    ]


def fused(*orders: Sequence[Key]) -> Mapping[Key, float]:
    """By reciprocal rank: what stands high in several orders stands highest."""
    found: dict[Key, float] = {}
    for order in orders:
        for place, key in enumerate(order, 1):
            found[key] = found.get(key, 0.0) + 1 / (FUSION + place)
    return found
