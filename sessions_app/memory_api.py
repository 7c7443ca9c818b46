"""Consolidations, memory and reflections over HTTP: parse, call one function, answer."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router

from sessions_app import condensing, consolidation, memory, reflections, runs
from sessions_app import memory_schemas as schemas
from sessions_app.access import Caller, caller, requires
from sessions_app.commits import commit
from sessions_app.documents import answers
from sessions_app.http import answer_once, answered_before, json_answer, made
from sessions_app.idempotency import Answer
from sessions_app.models import Agent
from sessions_app.problems import Conflict, NotFound, invalid
from sessions_app.schemas import ListQuery, Page
from sessions_app.sessions import find, parse_uid
from sessions_app.triggers import ASKED

sessions_router = Router(tags=["consolidation"])
router = Router(tags=["memory"])

BY_API = "api"


@sessions_router.post(
    "/{session_id}/consolidate",
    response=answers({202: schemas.ConsolidateOut, 200: schemas.ConsolidateOut}),
)
@requires("write")
def consolidate(
    request: HttpRequest, session_id: str, query: Query[schemas.ConsolidateQuery]
) -> HttpResponse:
    """Queue the session to be condensed up to its newest user turn; `wait=true` does it now."""
    who, now, uid = caller(request), timezone.now(), parse_uid(session_id)
    session = find(who, uid)
    if not query.wait:
        return answer_once(request, lambda: made(consolidation.ask(session, now), 202, uid), now)
    # No transaction may be open meanwhile; sent again, it finds nothing left to do.
    found = condensing.consolidate(session.pk, ASKED, timezone.now)
    return answer_once(request, lambda: made(consolidation.done(found, session_id), 200, uid), now)


@sessions_router.get("/{session_id}/consolidations", response=answers({200: schemas.ConsolidationPage}))
@requires("read")
def list_consolidations(
    request: HttpRequest, session_id: str, query: Query[schemas.ConsolidationQuery]
) -> HttpResponse:
    """Newest first, with what waits to be condensed beside them."""
    session = find(caller(request), parse_uid(session_id))
    return json_answer(consolidation.listed(session, **query.dict()))


@sessions_router.post(
    "/{session_id}/consolidations/{consolidation_id}/redo", response=answers({200: schemas.ConsolidationOut})
)
@requires("admin")
def redo_consolidation(
    request: HttpRequest, session_id: str, consolidation_id: str, data: schemas.RedoIn
) -> HttpResponse:
    """Condense the same range once more. Only the newest of a session."""
    who, uid, now = caller(request), parse_uid(session_id), timezone.now()
    if before := answered_before(request, now):
        return before
    found = condensing.redo(who, uid, consolidation_id, name=data.engine, by=BY_API, clock=timezone.now)
    if found is None:
        raise Conflict("The session was changed meanwhile. Look at it and try again.")
    return answer_once(request, lambda: made(consolidation.shown(found, session_id), 200, uid), now)


@sessions_router.post(
    "/{session_id}/consolidations/{consolidation_id}/discard",
    response=answers({200: schemas.ConsolidationOut}),
)
@requires("admin")
def discard_consolidation(request: HttpRequest, session_id: str, consolidation_id: str) -> HttpResponse:
    """Take the newest one back: its messages are in the window again."""
    who, uid, now = caller(request), parse_uid(session_id), timezone.now()

    def work() -> Answer:
        found = consolidation.discard(who, uid, consolidation_id, by=BY_API, now=now)
        return made(consolidation.shown(found, session_id), 200, uid)

    return answer_once(request, work, now)


@router.get("/memory", response=answers({200: schemas.MemoryOut}))
@requires("read")
def read_memory(request: HttpRequest) -> HttpResponse:
    """The agent's long-term memory. It starts at version 0, empty."""
    return json_answer(memory.read(caller(request)))


@router.put("/memory", response=answers({200: schemas.MemoryOut}))
@requires("admin")
def write_memory(request: HttpRequest, data: schemas.MemoryIn) -> HttpResponse:
    """Write it anew, on top of the version that was read; any other is a 409."""
    who, now = caller(request), timezone.now()
    return json_answer(commit(lambda: memory.write(who, data.content, data.version, BY_API, now)))


@router.get("/memory/revisions", response=answers({200: Page[schemas.RevisionOut]}))
@requires("read")
def list_revisions(request: HttpRequest, query: Query[ListQuery]) -> HttpResponse:
    """Versions of the memory, newest first, without their texts."""
    return json_answer(memory.listed(caller(request), **query.dict()))


@router.get("/memory/revisions/{version}", response=answers({200: schemas.RevisionWithDiffOut}))
@requires("read")
def read_revision(request: HttpRequest, version: str) -> HttpResponse:
    """One version, and what it changed."""
    if not version.isascii() or not version.isdigit() or len(version) > 9:
        raise NotFound("There is no such version of the memory.")
    return json_answer(memory.revision(caller(request), int(version)))


@router.post("/reflections", response=answers({201: schemas.ReflectionOut}))
@requires("write")
def write_reflection(request: HttpRequest, data: schemas.ReflectionIn) -> HttpResponse:
    """Write a report now: over the newest entries, or over a period."""
    who, now = caller(request), timezone.now()
    found = reflections.write(
        Agent.objects.get(pk=who.agent_id), _scope(who, data, now), reflections.ASKED, now
    )

    def work() -> Answer:
        found.pk = None
        found.save(force_insert=True)
        return made(reflections.shown(found))

    return answer_once(request, work, now)


@router.get("/reflections", response=answers({200: Page[schemas.ListedReflectionOut]}))
@requires("read")
def list_reflections(request: HttpRequest, query: Query[ListQuery]) -> HttpResponse:
    """Newest first, without their texts."""
    return json_answer(reflections.listed(caller(request), **query.dict()))


@router.get("/reflections/{reflection_id}", response=answers({200: schemas.ReflectionOut}))
@requires("read")
def read_reflection(request: HttpRequest, reflection_id: str) -> HttpResponse:
    """One report, as Markdown and as data."""
    return json_answer(reflections.one(caller(request), reflection_id))


@router.get("/runs", response=answers({200: Page[schemas.RunOut]}))
@requires("read")
def list_runs(request: HttpRequest, query: Query[ListQuery]) -> HttpResponse:
    """Long work over all sessions of the agent, and how far it has come."""
    return json_answer(runs.listed(caller(request), **query.dict()))


def _scope(who: Caller, data: schemas.ReflectionIn, now: datetime) -> reflections.Scope:
    since = reflections.parse_moment(data.since, "since", now, who.zone)
    until = reflections.parse_moment(data.until, "until", now, who.zone)
    if since is not None and since >= (until or now):
        raise invalid(["body", "since"], "The period is over before it begins.", "value_error")
    session = None if data.session_id is None else find(who, parse_uid(data.session_id))
    return reflections.Scope(data.limit, since, until, session)
