"""What the open page of a session asks for: more of the transcript, its live tail, places in it."""

import re
from collections.abc import Iterator

from django.core.exceptions import PermissionDenied
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from django.shortcuts import redirect, render
from django.urls import reverse

from sessions_app import events
from sessions_app.admin import transcript
from sessions_app.admin.sessions import reader_of
from sessions_app.models import Kind, Message, Session
from sessions_app.problems import Busy
from sessions_app.search.filters import Filters
from sessions_app.search.find import Asked, places_with
from sessions_app.search.query import MOST_CHARACTERS

TOLD = re.compile(rb"(?m)^data:.*$")
# Places that the find bar goes through; of more it shows the newest.
PLACES = 500
PARTS = {
    "seq": transcript.around, "before": transcript.before, "after": transcript.after, "only": transcript.only,
}  # fmt: skip


def chosen_session(request: HttpRequest, pk: int) -> Session:
    if not any(request.user.has_perm(f"sessions_app.{verb}_session") for verb in ("view", "change")):
        raise PermissionDenied
    session = Session.objects.select_related("agent").filter(pk=pk).first()
    if session is None:
        raise Http404
    return session


def wanted_part(session: Session, request: HttpRequest) -> transcript.Part:
    for name, read in PARTS.items():
        if (seq := number(request, name)) is not None:
            return read(session, seq)
    return transcript.newest(session)


def part(request: HttpRequest, pk: int) -> HttpResponse:
    session = chosen_session(request, pk)
    return render(request, "console/part.html", {"session": session, "part": wanted_part(session, request)})


def live(request: HttpRequest, pk: int) -> HttpResponseBase:
    session = chosen_session(request, pk)
    try:
        stream = events.stream(session, number(request, "after") or session.last_seq, include_hidden=True)
    except Busy as busy:
        return HttpResponse(busy.detail, status=503, headers=dict(busy.headers or {}))
    headers = {"X-Accel-Buffering": "no"}
    return StreamingHttpResponse(Numbers(stream), content_type="text/event-stream", headers=headers)


def find(request: HttpRequest, pk: int) -> HttpResponse:
    """Where in the whole session it was said, however little of it the page shows."""
    session = chosen_session(request, pk)
    typed = request.GET.get("q", "").replace("\0", "").strip()
    if not typed or len(typed) > MOST_CHARACTERS:
        return JsonResponse({"seqs": [], "more": False})
    filters = Filters(sessions=frozenset({session.pk}), include_hidden=True)
    asked = Asked(typed, "substring", filters, None, PLACES + 1)
    seqs = places_with(reader_of(session.agent), asked)
    return JsonResponse({"seqs": seqs[-PLACES:], "more": len(seqs) > PLACES})


def following(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """To the next error, decision or tool call behind an entry, and from the last one to the first."""
    session = chosen_session(request, pk)
    if kind not in Kind.values or kind == Kind.MESSAGE:
        raise Http404
    rows = Message.objects.filter(session_id=pk, kind=kind).order_by("seq").values_list("seq", flat=True)
    seq = rows.filter(seq__gt=number(request, "after") or 0).first() or rows.first()
    page = reverse("admin:sessions_app_session_change", args=[session.pk])
    return redirect(page if seq is None else f"{page}?seq={seq}#m{seq}")


def number(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


class Numbers:
    """A stream of events without what they tell: the page asks for that, and gets it as it may be shown."""

    def __init__(self, events: Iterator[bytes]) -> None:
        self._events = events

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return TOLD.sub(b"data: {}", next(self._events))

    def close(self) -> None:
        self._events.close()  # type: ignore[attr-defined]  # it gives its place back
