"""The published document against the server: what fits it is answered as it says, and never with a 500."""

from typing import Any

import requests
import schemathesis
from django.http import HttpResponse
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from config.api import api as assembled
from config.api_page import BASE, DOCUMENT, document
from tests.api.test_routes import ours
from tests.conftest import Api

__all__ = ["ours"]

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
# It ends only with its client.
ENDLESS = r"/events$"

schema = schemathesis.openapi.from_dict(assembled.get_openapi_schema()).exclude(path_regex=ENDLESS)


@schema.parametrize()
@settings(
    max_examples=3,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_every_end_point_answers_as_the_document_says(
    case: schemathesis.Case[Any], admin: Api, ours: dict[str, str]
) -> None:
    # Objects that exist: an unknown one is a 404 before anything else of a request is looked at.
    case.path_parameters = {name: ours[name] for name in case.path_parameters or {}}
    kwargs = case.as_transport_kwargs(base_url="http://testserver")
    prepared = requests.Request(**{**kwargs, "cookies": None}).prepare()
    path = str(prepared.path_url).removeprefix(BASE)
    answer = admin.send(case.method, path, prepared.body, **_readable(case.headers))
    case.validate_response(_as_checked(answer, prepared), checks=CHECKS)


def test_the_published_document_is_the_one_on_record() -> None:
    assert document() == DOCUMENT.read_text(), "the API has changed: look at it, then `make docs`"


def _readable(headers: Any) -> dict[str, str]:
    """Those of the case but for the key and its agent, which are ours."""
    ours = ("authorization", "x-daybook-agent")
    return {name: value for name, value in dict(headers or {}).items() if name.lower() not in ours}


def _as_checked(answer: HttpResponse, asked: requests.PreparedRequest) -> Response:
    return Response(
        status_code=answer.status_code,
        headers={name.lower(): [value] for name, value in answer.items()},
        content=b"".join(answer) if answer.streaming else answer.content,
        request=asked,
        elapsed=0,
        verify=False,
    )
