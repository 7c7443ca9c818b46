"""Sessions that wait to be condensed: a row first, whoever does the work later."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import F

from sessions_app.models import ConsolidationJob, Session

ON_RESET = "reset"


def queue(session_pks: Sequence[int], trigger: str, now: datetime) -> None:
    """Runs inside `commit`. Only where something is left to condense; who waits already keeps its place."""
    waiting = Session.objects.filter(pk__in=session_pks, last_seq__gt=F("consolidated_through"))
    jobs = [
        ConsolidationJob(session_id=pk, trigger=trigger, created_at=now)
        for pk in waiting.values_list("pk", flat=True)
    ]
    ConsolidationJob.objects.bulk_create(
        jobs, update_conflicts=True, unique_fields=["session"], update_fields=["trigger"]
    )


def unqueue(session_pk: int, trigger: str) -> None:
    ConsolidationJob.objects.filter(session_id=session_pk, trigger=trigger).delete()
