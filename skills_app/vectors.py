"""Which vector a query gets, when it is stored, and which ones still wait for theirs."""

from collections.abc import Sequence
from typing import NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import Q

from sessions_app.commits import commit
from sessions_app.embedding import Embedder, NoEmbeddings, embedder, packed
from sessions_app.models import Agent
from skills_app import pgvector
from skills_app.letters import letters
from skills_app.models import QueryVector
from skills_app.statements import rows, stamp_sql

BATCH = 256


class Vector(NamedTuple):
    model: str
    numbers: bytes


def at_once(texts: Sequence[str]) -> list[Vector | None]:
    """Vectors for queries that are being stored: by meaning where that is made in the process, which takes
    a fraction of a millisecond; by letters where a server is asked, or nobody. None for no text."""
    maker: Embedder = embedder() if settings.EMBEDDINGS == "wordllama" else letters
    given = [text for text in texts if text.strip()]
    made = iter(maker.embed(given)) if given else iter(())
    return [Vector(maker.model, packed(next(made))) if text.strip() else None for text in texts]


def wanted_model() -> str:
    """The model that all vectors should be of."""
    try:
        return embedder().model
    except NoEmbeddings:
        return letters.model


INSERT = """INSERT INTO skills_app_queryvector
(invocation_id, agent_id, session_pk, skill_name, model, vector, stamp{column})
VALUES (%s, %s, %s, %s, %s, %s, {stamp}{value}) RETURNING stamp"""
UPDATE = """UPDATE skills_app_queryvector SET model = %s, vector = %s, stamp = {stamp}{change}
WHERE invocation_id = %s RETURNING stamp"""


def store(pk: int, agent_id: int, session_pk: int | None, skill_name: str, vector: Vector) -> None:
    """Runs inside `commit`, with the invocation."""
    values = [pk, agent_id, session_pk, skill_name, vector.model, vector.numbers, agent_id, vector.model]
    column = value = ""
    if pgvector.is_there():
        column, value = ", meaning", ", %s::vector"
        values.append(pgvector.text_of(vector.numbers))
    rows(INSERT.format(stamp=stamp_sql(), column=column, value=value), values)


def renew_batch() -> int:
    """Vectors of another model than is wanted, a batch of them made anew; how many there were."""
    try:
        maker: Embedder = embedder()
    except NoEmbeddings:
        maker = letters
    found = _due(maker.model)
    if not found:
        return 0
    if not connection.in_atomic_block:
        # Nobody waits for a server with a connection in hand.
        connection.close()
    made = maker.embed([text for _, _, text in found])

    def work() -> None:
        for (pk, agent, _), vector in zip(found, made, strict=True):
            _replace(pk, agent, maker.model, packed(vector))

    commit(work)
    return len(found)


def _due(model: str) -> list[tuple[int, int, str]]:
    for agent in Agent.objects.order_by("pk").values_list("pk", flat=True):
        others = QueryVector.objects.filter(Q(model__lt=model) | Q(model__gt=model), agent_id=agent)
        if found := list(others.values_list("pk", "agent_id", "invocation__user_query")[:BATCH]):
            return found
    return []


def _replace(pk: int, agent_id: int, model: str, numbers: bytes) -> None:
    values = [model, numbers, agent_id, model]
    change = ""
    if pgvector.is_there():
        change = ", meaning = %s::vector"
        values.append(pgvector.text_of(numbers))
    rows(UPDATE.format(stamp=stamp_sql(), change=change), [*values, pk])
