"""docs/api.md and docs/openapi.json: the assembled API, written down. `make docs` renews them."""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from django.conf import settings

from config.api import api
from sessions_app.documents import PROBLEMS

PAGE = settings.BASE_DIR / "docs" / "api.md"
DOCUMENT = settings.BASE_DIR / "docs" / "openapi.json"
BASE = "/api/v1"

INTRODUCTION = f"""# The API

Written by `make docs` from the API itself; `/api/v1/openapi.json` of a running Daybook describes every field.

All paths begin with `{BASE}`. Every request carries `Authorization: Bearer <key>`; the scope is the least
that its key needs (admin implies write, write implies read). Bodies are JSON. Lists are
`{{"items": […], "next_cursor": …}}` and take `limit` and `cursor`. A POST may carry an `Idempotency-Key`.

Beside the answers named below each end point may give a problem (RFC 9457, `application/problem+json`):
{", ".join(map(str, PROBLEMS))}. A failure of ours is a 500 with the request's id.
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
    scopes = dict(_scopes())
    paths: dict[str, dict[str, Any]] = api.get_openapi_schema()["paths"]
    found = [
        EndPoint(
            operation["tags"][0],
            method.upper(),
            path.removeprefix(BASE),
            scopes[operation["operationId"]],
            # Where the name says it all there is no sentence.
            operation.get("description") or f"{operation['summary'].capitalize()}.",
            _answers(operation["responses"]),
        )
        for path, operations in paths.items()
        for method, operation in operations.items()
    ]
    return sorted(found, key=lambda end_point: end_point.tag)


def _section(tag: str, end_points: list[EndPoint]) -> str:
    head = ["| method | path | scope | does | answers |", "|---|---|---|---|---|"]
    return "\n".join([f"## {tag.capitalize()}", *head, *(found.row() for found in end_points), ""])


def _scopes() -> Iterator[tuple[str, str]]:
    for router in api._get_bound_routers():
        for view in router.path_operations.values():
            for operation in view.operations:
                name = operation.operation_id or api.get_openapi_operation_id(operation)
                yield name, operation.view_func.__dict__["required_scope"]


def _answers(responses: dict[int, Any]) -> str:
    return ", ".join(str(status) for status in sorted(responses) if status not in PROBLEMS)
