"""Skills over HTTP: parse, call one function, answer."""

from datetime import date
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import register_converter
from django.urls.converters import StringConverter
from django.utils import timezone
from ninja import Query, Router

from sessions_app.access import Caller, caller, requires
from sessions_app.documents import answers
from sessions_app.http import answer_once, json_answer, made
from sessions_app.idempotency import Answer
from sessions_app.problems import invalid
from sessions_app.schemas import ListQuery, Page
from sessions_app.sessions import find, parse_uid
from skills_app import (
    incoming,
    invocations,
    metrics,
    recommending,
    reports,
    schemas,
    tracking,
    trend_schemas,
    trends,
    vectors,
    workflow,
)
from skills_app.recommending import Question
from skills_app.selection import Selection, midnight, next_midnight


class Anything(StringConverter):
    """Django's `path` ends at a line break, which a name may have."""

    regex = "(?s:.+)"


register_converter(Anything, "text")
router = Router(tags=["skills"])
session_router = Router(tags=["skills"])

TEXT = "text/plain; charset=utf-8"
REPORT = {
    "responses": {
        200: {"description": "The report.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    }
}


@router.post("/invocations", response=answers({201: schemas.InvocationOut}))
@requires("write")
def start_invocation(request: HttpRequest, data: schemas.InvocationIn) -> HttpResponse:
    """A skill is being used from now on."""
    who, now = caller(request), timezone.now()
    use = incoming.use(data, who, now)
    (vector,) = vectors.at_once([use.user_query])
    session = None if data.session_id is None else find(who, parse_uid(data.session_id))

    def work() -> Answer:
        uid = tracking.start(who, use._replace(session_pk=None if session is None else session.pk), vector)
        return made(invocations.one(who, uid), 201, None if session is None else session.uid)

    return answer_once(request, work, now)


@router.post("/invocations/import", response=answers({200: schemas.ImportedOut}))
@requires("write")
def import_invocations(request: HttpRequest, data: schemas.ImportIn) -> HttpResponse:
    """Bring in finished invocations, all or none; those that are here already add nothing."""
    who, now = caller(request), timezone.now()
    uses = incoming.finished_uses(data.invocations, who, now)

    def work() -> Answer:
        added = tracking.bring_in(who, uses)
        return made({"added": added, "known": len(uses) - added}, 200)

    return answer_once(request, work, now)


@router.post("/invocations/{invocation_id}/complete", response=answers({200: schemas.InvocationOut}))
@requires("write")
def complete_invocation(request: HttpRequest, invocation_id: str, data: schemas.CompletionIn) -> HttpResponse:
    """Finish it, completed or failed. It is finished once."""
    who, now, uid = caller(request), timezone.now(), invocations.parse_uid(invocation_id)

    def work() -> Answer:
        tracking.complete(
            who,
            uid,
            completed=data.completed,
            follow_up_actions=data.follow_up_actions or (),
            error_type=data.error_type or "",
            duration_us=incoming.microseconds(data.duration_seconds),
            now=now,
        )
        shown = invocations.one(who, uid)
        return made(shown, 200, None if shown["session_id"] is None else parse_uid(shown["session_id"]))

    return answer_once(request, work, now)


@router.get("/invocations", response=answers({200: Page[schemas.InvocationOut]}))
@requires("read")
def list_invocations(request: HttpRequest, query: Query[schemas.InvocationsQuery]) -> HttpResponse:
    """Newest use first."""
    who, asked = caller(request), query.dict()
    session = asked.pop("session")
    asked["session_pk"] = None if session is None else find(who, parse_uid(session)).pk
    asked["since"] = None if query.since is None else midnight(query.since)
    asked["until"] = None if query.until is None else next_midnight(query.until)
    return json_answer(invocations.listed(who, **asked))


@router.get("/invocations/{invocation_id}", response=answers({200: schemas.InvocationOut}))
@requires("read")
def read_invocation(request: HttpRequest, invocation_id: str) -> HttpResponse:
    """One use of a skill."""
    return json_answer(invocations.one(caller(request), invocations.parse_uid(invocation_id)))


@router.get("/metrics", response=answers({200: Page[schemas.MetricsOut]}))
@requires("read")
def list_metrics(request: HttpRequest, query: Query[schemas.MetricsQuery]) -> HttpResponse:
    """Each skill, most used first."""
    selection = _selection(caller(request), query, query.skill_name)
    return json_answer(metrics.page(selection, query.cursor, query.limit))


@router.get("/metrics/{text:name}", response=answers({200: schemas.MetricsOut}))
@requires("read")
def read_metrics(request: HttpRequest, name: str, query: Query[schemas.PeriodQuery]) -> HttpResponse:
    """One skill; its name is any text, percent-encoded where the address needs it."""
    if "\x00" in name:
        raise invalid(["path", "name"], "NUL characters cannot be stored.", "nul_character")
    return json_answer(metrics.one(_selection(caller(request), query, name)))


@router.get("/summary", response=answers({200: schemas.SummaryOut}))
@requires("read")
def read_summary(request: HttpRequest, query: Query[schemas.PeriodQuery]) -> HttpResponse:
    """All skills together."""
    return json_answer(metrics.summary(_selection(caller(request), query)))


@router.post("/recommend", response=answers({200: schemas.RecommendationsOut}))
@requires("read")
def recommend(request: HttpRequest, data: schemas.RecommendIn) -> HttpResponse:
    """Skills that were used for queries like this one, with the reasons."""
    who = caller(request)
    session = None if data.session_id is None else find(who, parse_uid(data.session_id)).pk
    asked = Question(
        query=data.query,
        limit=data.limit,
        session_pk=session,
        min_similarity=data.min_similarity,
        workflow_phase=data.workflow_phase or "",
        phase_weight=data.phase_weight,
        group=data.group,
    )
    return json_answer(recommending.recommend(who, asked))


@router.get("/workflow", response=answers({200: schemas.WorkflowOut}))
@requires("read")
def read_workflow(request: HttpRequest, query: Query[schemas.PeriodQuery]) -> HttpResponse:
    """What works in which phase, where work gets stuck, which phase follows which."""
    return json_answer(workflow.analysis(_selection(caller(request), query)))


@router.get("/trends", response=answers({200: trend_schemas.TrendsOut}))
@requires("read")
def read_trends(request: HttpRequest, query: Query[schemas.TrendsQuery]) -> HttpResponse:
    """Skills by day: trends, anomalies, what is not used or fails, and in how many sessions."""
    until = query.until or timezone.now().date()
    return json_answer(trends.analysis(caller(request), until, query.days, query.skill_name))


@router.get("/report", response=answers({200: None}), openapi_extra=REPORT)
@requires("read")
def read_report(request: HttpRequest, query: Query[schemas.ReportQuery]) -> HttpResponse:
    """The same as text."""
    who, now = caller(request), timezone.now()
    selection = _selection(who, query)
    if query.kind == "metrics":
        text = reports.metrics_report(metrics.summary(selection), metrics.all_metrics(selection))
    elif query.kind == "workflow":
        text = reports.workflow_report(workflow.analysis(selection), query.session, now)
    elif query.kind == "heatmap":
        text = reports.heatmap_report(workflow.heatmap(selection))
    else:
        text = reports.trends_report(_trends_of(who, query, now.date()))
    return HttpResponse(text, content_type=TEXT)


@router.get("/export", response=answers({200: schemas.ExportOut}))
@requires("read")
def export(request: HttpRequest) -> StreamingHttpResponse:
    """Summary, skills and all invocations as one JSON document."""
    return StreamingHttpResponse(
        metrics.export(caller(request), timezone.now()), content_type="application/json"
    )


@session_router.get("/{session_id}/skills", response=answers({200: schemas.SessionSkillsOut}))
@requires("read")
def read_session_skills(request: HttpRequest, session_id: str, query: Query[ListQuery]) -> HttpResponse:
    """The skills of a session: a summary, and the invocations in the order of their use."""
    who = caller(request)
    session = find(who, parse_uid(session_id))
    page = invocations.of_session(who, session.pk, query.cursor, query.limit)
    return json_answer({**metrics.session_summary(Selection(who, session.pk), session_id), **page})


def _selection(who: Caller, query: Any, skill_name: str | None = None) -> Selection:
    session = None if query.session is None else find(who, parse_uid(query.session)).pk
    return Selection(who, session, query.since, query.until, skill_name)


def _trends_of(who: Caller, query: schemas.ReportQuery, today: date) -> dict[str, Any]:
    until = query.until or today
    days = 30 if query.since is None else (until - query.since).days + 1
    if not 1 <= days <= 366:
        raise invalid(["query", "since"], "It must be 0 to 365 days before `until`.", "period")
    return trends.analysis(who, until, days, None)
