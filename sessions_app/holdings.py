"""What the capabilities of this app keep of sessions beside the record, and how it is forgotten with them."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Max, Min, Q
from django.utils import timezone

from sessions_app import erasure
from sessions_app.handover import pass_on
from sessions_app.models import Consolidation, Message, Reflection, Session
from sessions_app.search import indexing


def _forget_index(pks: Sequence[int]) -> None:
    now = timezone.now()
    for agent_id, pk in Session.objects.filter(pk__in=pks).values_list("agent_id", "pk"):
        indexing.forget(agent_id, pk, now)


def _leave_index(session_pk: int, _: Sequence[int]) -> None:
    agent_id = Session.objects.values_list("agent_id", flat=True).get(pk=session_pk)
    indexing.take_out(agent_id, session_pk, timezone.now())


def _forget_sessions(pks: Sequence[int]) -> None:
    """Their own summaries and reports go by the cascade."""
    for session in Session.objects.filter(pk__in=pks).order_by("pk"):
        _hand_over_nothing(session)
        if session.first_at is not None and session.last_at is not None:
            _forget_reports(session.agent_id, session.first_at, session.last_at)


def _forget_messages(session_pk: int, pks: Sequence[int]) -> None:
    """A summary stands on the one before it, and none tells whose words are in it: all of them go."""
    session = Session.objects.get(pk=session_pk)
    Consolidation.objects.filter(session=session).delete()
    Reflection.objects.filter(session=session).delete()
    _hand_over_nothing(session)
    span = Message.objects.filter(session=session, pk__in=pks).aggregate(
        first=Min("created_at"), last=Max("created_at")
    )
    if span["first"] is not None:
        _forget_reports(session.agent_id, span["first"], span["last"])


def _hand_over_nothing(session: Session) -> None:
    """Those that followed keep what came from further back."""
    session.summary = ""
    pass_on(session)


def _forget_reports(agent_id: int, first: datetime, last: datetime) -> None:
    """Over all sessions: those that may have been made of something in that time."""
    made_since = Reflection.objects.filter(agent_id=agent_id, session=None, created_at__gte=first)
    made_since.filter(
        Q(since__isnull=True) | Q(since__lte=last), Q(until__isnull=True) | Q(until__gt=first)
    ).delete()


erasure.register("search", sessions=_forget_index, messages=_leave_index)
erasure.register("memory", sessions=_forget_sessions, messages=_forget_messages)
