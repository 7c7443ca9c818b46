"""Resolving, resets and what decides about them over HTTP: parse, call one function, answer."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from gateway_app import explaining, leases, policies, resolving
from gateway_app import resets_schemas as schemas
from sessions_app.access import caller, requires
from sessions_app.documents import answers
from sessions_app.http import answer_once, json_answer, made
from sessions_app.idempotency import Answer
from sessions_app.models import Session
from sessions_app.schemas import ListQuery, Page, SessionOut
from sessions_app.sessions import parse_uid, shown

router = Router(tags=["resets"])


@router.post("/resolve", response=answers({200: schemas.ResolvedOut, 201: schemas.ResolvedOut}))
@requires("write")
def resolve(request: HttpRequest, data: schemas.Resolve) -> HttpResponse:
    """The open session of a source. A policy that is due ends the old one first."""
    who = caller(request)
    source = data.source.source()

    def work() -> Answer:
        found = resolving.resolve(who, source, force_new=data.force_new, touch=data.touch, now=who.asked_at)
        return made(found.shown(who), 201 if found.created else 200, found.session.uid)

    return answer_once(request, work, who.asked_at)


@router.post("/sessions/{session_id}/reset", response=answers({201: SessionOut}))
@requires("write")
def reset_session(request: HttpRequest, session_id: str) -> HttpResponse:
    """End the session and open a new one for its key."""
    who, uid = caller(request), parse_uid(session_id)
    return _changed(request, lambda: resolving.reset(who, uid, who.asked_at), 201)


@router.post("/sessions/{session_id}/reopen", response=answers({200: SessionOut}))
@requires("write")
def reopen_session(request: HttpRequest, session_id: str) -> HttpResponse:
    """Make an ended session the open one of its key; the current one ends as `switched`."""
    who, uid = caller(request), parse_uid(session_id)
    return _changed(request, lambda: resolving.reopen(who, uid, who.asked_at), 200)


@router.get("/sessions/{session_id}/reset-decision", response=answers({200: schemas.DecisionOut}))
@requires("read")
def explain_decision(request: HttpRequest, session_id: str) -> HttpResponse:
    """Which policy applies, what holds of it now, what stands in its way, and when it is due.

    Of an ended session: the policy that ended it, and all that held then."""
    return json_answer(explaining.explain(caller(request), parse_uid(session_id)))


@router.get("/sessions/{session_id}/leases", response=answers({200: Page[schemas.LeaseOut]}))
@requires("read")
def list_leases(request: HttpRequest, session_id: str, query: Query[ListQuery]) -> HttpResponse:
    """The live leases of a session, oldest first."""
    who, uid = caller(request), parse_uid(session_id)
    return json_answer(leases.listed(who, uid, who.asked_at, **query.dict()))


@router.put("/sessions/{session_id}/leases/{path:name}", response=answers({200: schemas.LeaseOut}))
@requires("write")
def hold_lease(request: HttpRequest, session_id: str, name: str, data: schemas.LeaseIn) -> HttpResponse:
    """Start a lease, or renew it from now on."""
    who, uid = caller(request), parse_uid(session_id)
    return json_answer(leases.shown(leases.hold(who, uid, name, data.ttl_seconds, who.asked_at)))


@router.delete("/sessions/{session_id}/leases/{path:name}", response=answers({204: None}))
@requires("write")
def release_lease(request: HttpRequest, session_id: str, name: str) -> HttpResponse:
    """End a lease; one that has run out already is no mistake."""
    who, uid = caller(request), parse_uid(session_id)
    leases.release(who, uid, name, who.asked_at)
    return HttpResponse(status=204)


@router.get("/reset-policies", response=answers({200: Page[schemas.PolicyOut]}))
@requires("read")
def list_policies(request: HttpRequest, query: Query[ListQuery]) -> HttpResponse:
    """The agent's reset policies; the most specific one wins."""
    return json_answer(policies.listed(caller(request), **query.dict()))


@router.put("/reset-policies", response=answers({200: schemas.PolicyOut}))
@requires("admin")
def put_policy(request: HttpRequest, data: schemas.PolicyIn) -> HttpResponse:
    """Set the policy of a platform and a chat type; without one of them, of any."""
    return json_answer(policies.shown(policies.put(caller(request), data.dict())))


@router.delete("/reset-policies/{policy_id}", response=answers({204: None}))
@requires("admin")
def remove_policy(request: HttpRequest, policy_id: str) -> HttpResponse:
    """Remove a policy: a less specific one, or the built-in one, applies again."""
    policies.remove(caller(request), policy_id)
    return HttpResponse(status=204)


def _changed(request: HttpRequest, change: Callable[[], Session], status: int) -> HttpResponse:
    who = caller(request)

    def work() -> Answer:
        session = change()
        return made(shown(session, who), status, session.uid)

    return answer_once(request, work, who.asked_at)
