"""Keeps the sentences that carry the conversation, in their own words: no network, always the same result."""

from collections.abc import Iterator

import structlog

from sessions_app.embedding import NoEmbeddings, embedder
from sessions_app.engines import EXTRACTIVE, Digest, Material
from sessions_app.extracting import Embed, choose
from sessions_app.points import merged, room, written
from sessions_app.recalled import Recalled
from sessions_app.sentences import Sentence, sentences

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
        points = merged(material.earlier, new, max(most, room(material.tokens + _tokens_of(material))))
        return Digest(written(points), points, EXTRACTIVE)


def _embed() -> Embed | None:
    try:
        return embedder().embed
    except NoEmbeddings:
        return None


def _sentences(material: Material) -> Iterator[Sentence]:
    known = Recalled(material.summary, material.memory)
    for spoken in material.spoken():
        for sentence in sentences(spoken):
            if sentence.text not in known:
                yield sentence


def _tokens_of(material: Material) -> int:
    """What the earlier points were made of was longer than they are: they keep the room they had."""
    return 3 * sum(len(point.line) // 4 + 1 for point in material.earlier)
