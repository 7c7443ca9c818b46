"""A person's data over HTTP."""

from datetime import datetime
from typing import Literal

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from ninja import Router, Schema

from gateway_app import personal_data, personal_export
from sessions_app.access import caller, requires
from sessions_app.documents import answers, file_of
from sessions_app.http import json_answer
from sessions_app.transcripts.exporting import ARCHIVE_TYPE

router = Router(tags=["people"])


class ErasureOut(Schema):
    id: str
    state: Literal["queued", "done"]
    sessions: int
    messages: int
    created_at: datetime
    finished_at: datetime | None


@router.get(
    "/people/{platform}/{user_id}/export", response=answers({200: None}), openapi_extra=file_of(ARCHIVE_TYPE)
)
@requires("admin")
def export_person(request: HttpRequest, platform: str, user_id: str) -> StreamingHttpResponse:
    """Everything about one user id on one platform, and about the identities linked to it: JSON lines."""
    who = caller(request)
    subject = personal_data.subject_of(who.agent_id, platform, user_id)
    lines = personal_export.export(who, subject, timezone.now())
    response = StreamingHttpResponse(lines, content_type=ARCHIVE_TYPE)
    response.headers["Content-Disposition"] = 'attachment; filename="person.jsonl"'
    return response


@router.delete("/people/{platform}/{user_id}", response=answers({202: ErasureOut}))
@requires("admin")
def erase_person(request: HttpRequest, platform: str, user_id: str) -> HttpResponse:
    """Erase all of it, as a task. `GET /erasures/{id}` tells when it is done, and no longer who it was."""
    row = personal_data.ask(caller(request), platform, user_id, timezone.now())
    return json_answer(personal_data.shown(row), 202)


@router.get("/erasures/{erasure_id}", response=answers({200: ErasureOut}))
@requires("admin")
def read_erasure(request: HttpRequest, erasure_id: str) -> HttpResponse:
    """How far an erasure has come."""
    return json_answer(personal_data.one(caller(request), erasure_id))
