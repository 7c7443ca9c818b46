"""Parts of the OpenAPI document that the routes share: the problems each may answer, bodies read by hand."""

from typing import Any

from sessions_app.entries import MessageIn
from sessions_app.schemas import Batch, ProblemOut

JSON = "application/json"


def answers(good: dict[int, Any]) -> dict[int, Any]:
    """One problem, for its schema: those that a route may really answer are told by `config/openapi.py`."""
    return {**good, 422: ProblemOut}


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without references: bodies that a route reads by itself have no place for definitions."""
    definitions = schema.pop("$defs", {})

    def resolve(value: Any) -> Any:
        if isinstance(value, list):
            return [resolve(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return resolve(definitions[value["$ref"].rsplit("/", 1)[1]])
        return {name: resolve(item) for name, item in value.items()}

    resolved: dict[str, Any] = resolve(schema)
    return resolved


BATCH_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "title": "Message or batch",
                    "anyOf": [_inlined(MessageIn.model_json_schema()), _inlined(Batch.model_json_schema())],
                }
            }
        },
    }
}


def event_stream() -> dict[str, Any]:
    return {
        "parameters": [
            {
                "in": "header",
                "name": "Last-Event-ID",
                "required": False,
                "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
                "description": "The seq of the last event that was seen.",
            }
        ],
        "responses": {
            200: {
                "description": "Events `message` (id: the seq, data: the message object) and, last, `ended`.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            }
        },
    }


def file_of(*kinds: str) -> dict[str, Any]:
    binary: dict[str, Any] = {"type": "string", "format": "binary"}
    content = {kind: {"schema": {} if kind == JSON else binary} for kind in sorted({*kinds})}
    return {"responses": {200: {"description": "The file, as it is read.", "content": content}}}


def plain_text(description: str) -> dict[str, Any]:
    content = {"text/plain": {"schema": {"type": "string"}}}
    return {"responses": {200: {"description": description, "content": content}}}
