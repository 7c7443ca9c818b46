from django.http import HttpRequest, HttpResponse
from ninja import Router

from gateway_app import context
from gateway_app.context_schemas import ContextOut
from sessions_app.access import caller, requires
from sessions_app.documents import answers
from sessions_app.http import json_answer
from sessions_app.sessions import parse_uid

router = Router(tags=["context"])


@router.get("/{session_id}/context", response=answers({200: ContextOut}))
@requires("read")
def read_context(request: HttpRequest, session_id: str) -> HttpResponse:
    """Where the agent is: as data, and as a section for its system prompt."""
    return json_answer(context.read(caller(request), parse_uid(session_id)))
