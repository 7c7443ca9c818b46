"""What the gateway gives to imports, archives and erasure."""

from collections.abc import Sequence
from typing import Any

from gateway_app.models import Delivery
from gateway_app.personal_data import forget_deliveries
from gateway_app.platforms import key_of
from gateway_app.sources import BadSource, Source
from sessions_app import erasure
from sessions_app.access import Caller
from sessions_app.problems import Invalid
from sessions_app.transcripts import wiring


def register() -> None:
    wiring.register_key_of_source(key_of_source)
    erasure.register("deliveries", sessions=_forget_deliveries)


def _forget_deliveries(pks: Sequence[int]) -> None:
    forget_deliveries(Delivery.objects.filter(session_id__in=pks))


def key_of_source(caller: Caller, given: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The key that a resolve of this source would use; None for what can be no source here."""
    try:
        source = Source.from_json(given)
        return key_of(caller, source), source.as_json()
    except (BadSource, Invalid):
        return None
