"""Connections to platforms over HTTP."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router

from gateway_app import platforms
from gateway_app import platforms_schemas as schemas
from sessions_app.access import caller, requires
from sessions_app.documents import answers
from sessions_app.http import json_answer
from sessions_app.schemas import ListQuery, Page

router = Router(tags=["platforms"])


@router.get("", response=answers({200: Page[schemas.PlatformOut]}))
@requires("read")
def list_platforms(request: HttpRequest, query: Query[ListQuery]) -> HttpResponse:
    """The connections of the agent."""
    return json_answer(platforms.listed(caller(request), **query.dict()))


@router.put("/{platform}", response=answers({200: schemas.PlatformSetUp}))
@requires("admin")
def put_platform(request: HttpRequest, platform: str, data: schemas.PlatformIn) -> HttpResponse:
    """Set a connection, whole. The secret of its webhook is answered once, when it is made."""
    connection, secret = platforms.set_up(
        caller(request).agent_id,
        platform,
        data.values(),
        timezone.now(),
        rotate_secret=data.rotate_secret,
    )
    return json_answer({**platforms.shown(connection), "webhook_secret": secret})


@router.get("/{platform}", response=answers({200: schemas.PlatformOut}))
@requires("read")
def read_platform(request: HttpRequest, platform: str) -> HttpResponse:
    """One connection; its secret is never told again."""
    return json_answer(platforms.shown(platforms.one(caller(request), platform)))


@router.delete("/{platform}", response=answers({204: None}))
@requires("admin")
def remove_platform(request: HttpRequest, platform: str) -> HttpResponse:
    """Remove a connection; what waits to be sent there is given up."""
    platforms.remove(caller(request), platform)
    return HttpResponse(status=204)
