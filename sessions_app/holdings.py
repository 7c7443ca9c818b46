"""What the capabilities of this app keep of sessions beside the record, and how it is forgotten with them."""

from collections.abc import Sequence

from django.utils import timezone

from sessions_app import erasure
from sessions_app.models import Session
from sessions_app.search import indexing


def _forget_index(pks: Sequence[int]) -> None:
    now = timezone.now()
    for agent_id, pk in Session.objects.filter(pk__in=pks).values_list("agent_id", "pk"):
        indexing.forget(agent_id, pk, now)


erasure.register("search", sessions=_forget_index)
