"""Deliveries to `local`: Markdown files below the data directory."""

import os
from datetime import UTC
from pathlib import Path

from gateway_app.models import Delivery
from gateway_app.retries import Verdict
from gateway_app.webhooks import Outcome


def write(folder: Path, delivery: Delivery) -> Outcome:
    """Whole or not at all. The path is made of numbers and ids of ours: nothing in it can lead away."""
    at = delivery.created_at.astimezone(UTC)
    place = folder / str(delivery.agent_id) / at.strftime("%Y-%m-%d") / f"{delivery.uid}.md"
    session = "null" if delivery.session is None else delivery.session.uid
    text = (
        f"---\nid: {delivery.uid}\nsession: {session}\ncreated: {at.isoformat()}\n---\n\n{delivery.content}\n"
    )
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _put(place, text)
    except OSError as error:
        return Outcome(Verdict.AGAIN, f"The file could not be written: {error.strerror}.")
    return Outcome(Verdict.DELIVERED)


def _put(place: Path, text: str) -> None:
    # The name is the same at each attempt: what a killed process leaves behind is written over.
    part = place.with_name(f".{place.stem}.part")
    with part.open("w", encoding="utf-8", newline="") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(place)
