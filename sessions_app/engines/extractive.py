"""Keeps the sentences that carry the conversation, in their own words: no network, always the same result."""

from collections.abc import Iterator
from dataclasses import replace

import structlog

from sessions_app.embedding import NoEmbeddings, embedder
from sessions_app.engines import EXTRACTIVE, Digest, Material
from sessions_app.extracting import Embed, choose
from sessions_app.points import SHARE, merged, room, settled, written
from sessions_app.recalled import Recalled
from sessions_app.sentences import OPEN, Sentence, sentences
from sessions_app.tokens import estimate

log = structlog.get_logger(__name__)


class ExtractiveEngine:
    name = EXTRACTIVE

    def condense(self, material: Material) -> Digest:
        most = room(material.tokens)
        try:
            new = choose(_sentences(material), most, _embed())
        except NoEmbeddings as error:
            # By letters alone: less apt, and still a summary.
            log.warning("condensed without meanings", error=str(error))
            new = choose(_sentences(material), most, None)
        # Whatever was asked last time, the conversation has gone on since.
        earlier = settled(material.earlier, OPEN)
        points = merged(earlier, new, max(most, room(material.tokens + _tokens_of(material))))
        return Digest(written(points), points, EXTRACTIVE)


def _embed() -> Embed | None:
    try:
        return embedder().embed
    except NoEmbeddings:
        return None


def _sentences(material: Material) -> Iterator[Sentence]:
    known = Recalled(material.summary, material.memory)
    news = (replace(one, text=known.without(one.text)) for one in material.spoken())
    return (one for one in sentences(news) if one.text not in known)


def _tokens_of(material: Material) -> int:
    """What the earlier points were made of was longer than they are: they keep the room they had."""
    return round(sum(estimate(point.line) + 1 for point in material.earlier) / SHARE)
