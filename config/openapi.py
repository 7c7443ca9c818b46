"""The OpenAPI document: what the framework finds out from the routes, with what a reader needs beside it."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

import gateway_app.glossary
import sessions_app.glossary
import skills_app.glossary
from config.openapi_texts import CONFLICTS, ERRORS, EXAMPLES, HEADERS, OVERVIEW, PROBLEMS, SUCCESSES, TAGS
from sessions_app.idempotency import KEY_LENGTH
from sessions_app.problems import CONTENT_TYPE as PROBLEM

JSON = dict[str, Any]

WORDS = {**sessions_app.glossary.WORDS, **gateway_app.glossary.WORDS, **skills_app.glossary.WORDS}
SHARED_HEADERS: JSON = {
    "X-Request-ID": {
        "description": "The id of the request, taken from it or made; every line of the log about it has it.",
        "schema": {"type": "string"},
    },
    "Idempotent-Replayed": {
        "description": "`true`: this is the answer that the same Idempotency-Key was given before.",
        "schema": {"type": "string", "enum": ["true"]},
    },
}
REQUEST_ID: JSON = {"X-Request-ID": {"$ref": "#/components/headers/X-Request-ID"}}
REPLAYED: JSON = {"Idempotent-Replayed": {"$ref": "#/components/headers/Idempotent-Replayed"}}
IDEMPOTENCY_KEY: JSON = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH, "pattern": "^[!-~]+$"},
    "description": "The same key again stores nothing new and gets the first answer, for 24 hours.",
}
AGENT = {
    "type": "apiKey",
    "in": "header",
    "name": "X-Daybook-Agent",
    "description": "The agent that an operator's key acts for. A key of one agent needs none.",
}
BODY_METHODS = ("post", "put", "patch")


class DaybookApi(NinjaAPI):
    _document: OpenAPISchema | None = None

    def get_openapi_schema(self, **given: Any) -> OpenAPISchema:
        """Made once: it takes a good part of a second, and is the same until the next start."""
        if any(given.values()):
            return _told(self, super().get_openapi_schema(**given))
        if self._document is None:
            self._document = _told(self, super().get_openapi_schema())
        return self._document


def operations(api: NinjaAPI) -> Iterator[tuple[str, Operation]]:
    """Each route by the id that it has in the document."""
    for router in api._get_bound_routers():
        for view in router.path_operations.values():
            for operation in view.operations:
                yield operation.operation_id or api.get_openapi_operation_id(operation), operation


def scope_of(route: Operation) -> str:
    scope: str = route.view_func.__dict__["required_scope"]
    return scope


def _told(api: NinjaAPI, schema: OpenAPISchema) -> OpenAPISchema:
    schema["info"]["description"] = OVERVIEW
    schema["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    components = schema["components"]
    components["responses"] = {status: _problem(int(status), *texts) for status, texts in PROBLEMS.items()}
    components["headers"] = SHARED_HEADERS
    components["securitySchemes"]["AgentHeader"] = AGENT
    for name, component in components["schemas"].items():
        _describe(component, name)
        if name in EXAMPLES:
            component["examples"] = EXAMPLES[name]
    routes = dict(operations(api))
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            _tell(operation, path, method, routes[operation["operationId"]])
    return schema


def _tell(operation: JSON, path: str, method: str, route: Operation) -> None:
    scope = scope_of(route)
    operation["description"] = f"{operation['description']}\n\nScope: `{scope}`."
    operation["security"] = [{"KeyAuth": []}, {"KeyAuth": [], "AgentHeader": []}]
    for parameter in operation["parameters"]:
        described = parameter.get("description") or parameter["schema"].get("description")
        if words := described or _of_path(parameter["name"], path):
            parameter["description"] = words
    for media in operation.get("requestBody", {}).get("content", {}).values():
        schema = media["schema"]
        _describe(schema, schema.get("title", ""))
        if parts := [part["title"] for part in schema.get("anyOf", ())]:
            schema["examples"] = [example for part in parts for example in EXAMPLES[part]]
    # What only reads has nothing to repeat.
    is_once = method == "post" and scope != "read"
    if is_once:
        operation["parameters"] = [*operation["parameters"], IDEMPOTENCY_KEY]
    good = {status: answer for status, answer in operation["responses"].items() if int(status) < 400}
    operation["responses"] = {
        **{str(status): _success(int(status), answer, replayed=is_once) for status, answer in good.items()},
        **{status: {"$ref": f"#/components/responses/{status}"} for status in _failures(operation, method)},
    }
    if conflict := CONFLICTS.get(route.view_func.__name__):
        operation["responses"]["409"] = _problem(409, conflict, conflict)


def _failures(operation: JSON, method: str) -> list[str]:
    left_out = set() if method in BODY_METHODS else {"413", "415"}
    if "requestBody" not in operation:
        left_out.add("415")
    return [status for status in PROBLEMS if status not in left_out]


def _success(status: int, answer: JSON, *, replayed: bool) -> JSON:
    if answer["description"] == HTTPStatus(status).phrase:
        answer["description"] = SUCCESSES[status]
    answer["headers"] = REQUEST_ID | (REPLAYED if replayed else {})
    return answer


def _problem(status: int, when: str, detail: str) -> JSON:
    example: JSON = {
        "type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail
    }  # fmt: skip
    if status == 422:
        example["errors"] = ERRORS
    if status >= 500:
        example["request_id"] = "4c1f0a2b"
    content = {"schema": {"$ref": "#/components/schemas/ProblemOut"}, "example": example}
    return {
        "description": when,
        "headers": REQUEST_ID | HEADERS.get(str(status), {}),
        "content": {PROBLEM: content},
    }


def _describe(schema: JSON, name: str) -> None:
    for field, given in schema.get("properties", {}).items():
        if "description" not in given and (words := _words(field, f"{name}.{field}")):
            given["description"] = words
    # Bodies that a route reads by itself stand in the document whole, without references.
    for part in (*schema.get("anyOf", ()), *schema.get("properties", {}).values(), schema.get("items")):
        if part:
            _describe(part, part.get("title", name))


def _of_path(name: str, path: str) -> str | None:
    place = next((key for key in WORDS if key.endswith(f"?{name}") and key.partition("?")[0] in path), name)
    return WORDS.get(place)


def _words(field: str, place: str) -> str | None:
    return WORDS.get(place, WORDS.get(field))
