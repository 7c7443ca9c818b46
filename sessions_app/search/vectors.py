"""Vectors of meaning for what the index has: made by a task, a batch at a time, resumed where it stopped."""

from datetime import datetime
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import F
from numpy.typing import NDArray

from sessions_app.commits import commit
from sessions_app.embedding import Embedder, Vectors, embedder
from sessions_app.erasure import ERASED
from sessions_app.models import Message, SearchDuty, SearchVector, Session
from sessions_app.search.indexing import any_erased
from sessions_app.search.segments import Stale
from sessions_app.search.text import searched_text

DUTY = "embed"
BATCH = 256
# Sessions, or vectors of another model, that are set back at once.
RENEWED = 2_000


def step(now: datetime) -> bool:
    """The next batch; whether there may be more. Raises NoEmbeddings where none can be made."""
    made_by = embedder()
    return _renew(made_by.model) or _embed_next(made_by)


def is_due() -> bool:
    """Whether there is anything to do, told without loading what makes vectors."""
    return settings.EMBEDDINGS != "off" and pending().exists()


def pending() -> Any:
    return Session.objects.filter(searched_through__gt=F("embedded_through"))


def _embed_next(made_by: Embedder) -> bool:
    """Newest conversations first. No transaction is open while the vectors are made."""
    session = (
        pending().order_by("-pk").values("pk", "agent_id", "embedded_through", "searched_through").first()
    )
    if session is None:
        return False
    behind = Message.objects.filter(
        session_id=session["pk"],
        seq__gt=session["embedded_through"],
        seq__lte=session["searched_through"],
    )
    rows = list(behind.order_by("seq").values_list("pk", "seq", "body", "hidden_by")[:BATCH])
    told = [(pk, searched_text(body)) for pk, _, body, hidden in rows if hidden != ERASED]
    vectors = made_by.embed([text for _, text in told]) if told else ()
    through = rows[-1][1] if rows else session["searched_through"]
    try:
        commit(lambda: _store(session, [pk for pk, _ in told], vectors, made_by, through))
    except Stale:
        # Erased meanwhile, or done by another.
        return True
    return True


def _store(
    session: dict[str, Any],
    messages: list[int],
    vectors: Vectors | tuple[()],
    made_by: Embedder,
    through: int,
) -> None:
    marked = Session.objects.filter(pk=session["pk"], embedded_through=session["embedded_through"])
    if not marked.update(embedded_through=through):
        raise Stale
    if any_erased(messages):
        raise Stale
    SearchVector.objects.bulk_create(
        SearchVector(
            agent_id=session["agent_id"],
            session_id=session["pk"],
            message=message,
            model=made_by.model,
            dimensions=made_by.dimensions,
            data=packed(vector),
        )
        for message, vector in zip(messages, vectors, strict=True)
        if vector.any()
    )


def _renew(model: str) -> bool:
    """After a change of the model all is made anew."""
    duty, _ = SearchDuty.objects.get_or_create(name=DUTY)
    if duty.model == model:
        return False
    old = list(SearchVector.objects.exclude(model=model).values_list("pk", flat=True)[:RENEWED])
    done = Session.objects.filter(embedded_through__gt=0) if duty.model else Session.objects.none()
    again = list(done.values_list("pk", flat=True)[:RENEWED])

    def work() -> None:
        SearchVector.objects.filter(pk__in=old).delete()
        Session.objects.filter(pk__in=again).update(embedded_through=0)
        if not old and not again:
            SearchDuty.objects.filter(pk=DUTY).update(model=model)

    commit(work)
    return True


def packed(vector: Vectors) -> bytes:
    """A quarter of its size: whole numbers, and what the largest of them stands for."""
    scale = np.float32(np.abs(vector).max() / 127 or 1)
    numbers: bytes = np.rint(vector / scale).astype(np.int8).tobytes()
    return bytes(scale.tobytes()) + numbers


def unpacked(rows: list[bytes], dimensions: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    raw = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), 4 + dimensions)
    scales = np.ascontiguousarray(raw[:, :4]).view("<f4").reshape(-1)
    return raw[:, 4:].view(np.int8), scales
