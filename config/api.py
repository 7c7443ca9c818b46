"""The assembled API: every router, one authentication, one way to answer errors."""

from typing import Any

import structlog
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from ninja.errors import HttpError, ValidationError
from ninja.openapi.docs import Swagger

import gateway_app.api
import gateway_app.context_api
import gateway_app.deliveries_api
import gateway_app.personal_data_api
import gateway_app.platforms_api
import gateway_app.resets_api
import sessions_app.api
import sessions_app.memory_api
import sessions_app.search_api
import sessions_app.transfer_api
import skills_app.api
from config.openapi import DaybookApi
from gateway_app.auth import KeyAuth
from sessions_app.http import StrictParser
from sessions_app.problems import FieldError, Invalid, Problem, problem_answer

# How views name their one body: of no use to the caller, who sent it without a name.
BODY_NAME = "data"

log = structlog.get_logger("daybook.api")


api = DaybookApi(
    title="Daybook",
    version="1",
    auth=KeyAuth(),
    parser=StrictParser(),
    openapi_url="/openapi.json",
    docs_url="/docs",
    docs=Swagger(settings={"persistAuthorization": True, "docExpansion": "none", "filter": True}),
    docs_decorator=lambda view: csrf_exempt(require_safe(view)),
    urls_namespace="api",
)
api.add_router("", gateway_app.api.router)
api.add_router("", gateway_app.resets_api.router)
api.add_router("", gateway_app.personal_data_api.router)
api.add_router("/platforms", gateway_app.platforms_api.router)
api.add_router("/deliveries", gateway_app.deliveries_api.router)
api.add_router("/sessions", gateway_app.context_api.router)
api.add_router("/sessions", sessions_app.api.router)
api.add_router("/sessions", skills_app.api.session_router)
api.add_router("/skills", skills_app.api.router)
api.add_router("/messages", sessions_app.api.messages_router)
api.add_router("/sessions", sessions_app.memory_api.sessions_router)
api.add_router("", sessions_app.memory_api.router)
api.add_router("", sessions_app.search_api.router)
api.add_router("", sessions_app.transfer_api.router)


@api.exception_handler(Problem)
def answer_problem(request: HttpRequest, problem: Problem) -> HttpResponse:
    return problem.answer()


@api.exception_handler(ValidationError)
def answer_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    return Invalid([_field_error(found) for found in error.errors]).answer()


@api.exception_handler(Http404)
def answer_missing(request: HttpRequest, error: Http404) -> HttpResponse:
    return problem_answer(404, "There is nothing at this address.")


@api.exception_handler(HttpError)
def answer_http(request: HttpRequest, error: HttpError) -> HttpResponse:
    # What our parser raised comes wrapped, as if every body it refuses could not be read.
    if isinstance(error.__cause__, Problem):
        return error.__cause__.answer()
    return problem_answer(error.status_code, str(error))


@api.exception_handler(RequestDataTooBig)
def answer_too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return problem_answer(413, "The body is larger than 8 MiB.")


@api.exception_handler(SuspiciousOperation)
def answer_suspicious(request: HttpRequest, error: SuspiciousOperation) -> HttpResponse:
    return problem_answer(400, "The request cannot be read.")


@api.exception_handler(UnreadablePostError)
def answer_unreadable(request: HttpRequest, error: UnreadablePostError) -> HttpResponse:
    return problem_answer(400, "The body ended before it was complete.")


@api.exception_handler(OperationalError)
def answer_database_away(request: HttpRequest, error: OperationalError) -> HttpResponse:
    log.error("database away", error=str(error).strip())
    return problem_answer(503, "The database does not answer. Try again.", headers={"Retry-After": "1"})


def _field_error(found: dict[str, Any]) -> FieldError:
    loc = list(found["loc"])
    if loc[:1] == ["body"] and loc[1:2] == [BODY_NAME]:
        del loc[1]
    if loc[:1] == ["query"] and loc[1:2] == ["query"]:
        del loc[1]
    return {"loc": loc, "msg": found["msg"], "type": found["type"]}
