"""docs/api.md and docs/openapi.json: the assembled API, written down. `make docs` renews them."""

import json
from itertools import groupby
from typing import Any, NamedTuple

from django.conf import settings

from config.api import api
from config.openapi import operations, scope_of
from config.openapi_texts import PROBLEMS

PAGE = settings.BASE_DIR / "docs" / "api.md"
DOCUMENT = settings.BASE_DIR / "docs" / "openapi.json"
BASE = "/api/v1"

INTRODUCTION = f"""# The API

Written by `make docs` from the API itself; `/api/v1/openapi.json` of a running Daybook describes every field.

All paths begin with `{BASE}`. Every request carries `Authorization: Bearer <key>`; the scope is the least
that its key needs (admin implies write, write implies read). Bodies are JSON. Lists are
`{{"items": […], "next_cursor": …}}` and take `limit` and `cursor`. A POST may carry an `Idempotency-Key`.

Beside the answers named below each end point may give a problem (RFC 9457, `application/problem+json`):
{", ".join(PROBLEMS)}; 409 where it is named. A 500 is a failure of ours, with the request's id.
"""


class EndPoint(NamedTuple):
    tag: str
    method: str
    path: str
    scope: str
    does: str
    answers: str

    def row(self) -> str:
        return f"| {self.method} | `{self.path}` | {self.scope} | {self.does} | {self.answers} |"


def page() -> str:
    sections = [_section(tag, list(group)) for tag, group in groupby(end_points(), lambda found: found.tag)]
    return "\n".join([INTRODUCTION, *sections])


def document() -> str:
    """The published document as it is kept on record, so that no change of the contract goes unseen."""
    return json.dumps(api.get_openapi_schema(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def end_points() -> list[EndPoint]:
    routes = dict(operations(api))
    paths: dict[str, dict[str, Any]] = api.get_openapi_schema()["paths"]
    found = [
        EndPoint(
            operation["tags"][0],
            method.upper(),
            path.removeprefix(BASE),
            scope_of(routes[operation["operationId"]]),
            operation["description"].partition("\n")[0],
            _answers(operation["responses"]),
        )
        for path, operations in paths.items()
        for method, operation in operations.items()
    ]
    return sorted(found, key=lambda end_point: end_point.tag)


def _section(tag: str, end_points: list[EndPoint]) -> str:
    head = ["| method | path | scope | does | answers |", "|---|---|---|---|---|"]
    return "\n".join([f"## {tag.capitalize()}", *head, *(found.row() for found in end_points), ""])


def _answers(responses: dict[Any, Any]) -> str:
    return ", ".join(status for status in sorted(map(str, responses)) if status not in PROBLEMS)
