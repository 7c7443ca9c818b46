from django.http import HttpRequest, HttpResponse
from ninja import Router

from gateway_app import agents, schemas
from sessions_app.access import caller, requires
from sessions_app.documents import answers
from sessions_app.http import json_answer

router = Router(tags=["agent"])


@router.get("/agent", response=answers({200: schemas.AgentOut}))
@requires("read")
def read_agent(request: HttpRequest) -> HttpResponse:
    """The agent that the key belongs to, with its settings."""
    return json_answer(agents.read(caller(request)))


@router.patch("/agent", response=answers({200: schemas.AgentOut}))
@requires("admin")
def change_agent(request: HttpRequest, data: schemas.AgentChange) -> HttpResponse:
    """Change settings of the agent: those that are given."""
    return json_answer(agents.change(caller(request), data.dict(exclude_unset=True)))
