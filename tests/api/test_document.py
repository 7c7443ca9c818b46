"""The published document describes every field, every parameter and every answer."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

import gateway_app.glossary
import sessions_app.glossary
import skills_app.glossary
from config.api import api as assembled
from config.openapi import WORDS, operations
from config.openapi_texts import CONFLICTS, EXAMPLES, PROBLEMS, TAGS
from tests.conftest import Api, said

JSON = dict[str, Any]
DOCUMENT: JSON = json.loads(json.dumps(assembled.get_openapi_schema()))
GLOSSARIES = (sessions_app.glossary.WORDS, gateway_app.glossary.WORDS, skills_app.glossary.WORDS)


def told() -> Iterator[tuple[str, JSON]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def properties(schema: Any, place: str) -> Iterator[tuple[str, JSON]]:
    if isinstance(schema, dict):
        for name, given in schema.get("properties", {}).items():
            yield f"{place}.{name}", given
        for name, part in schema.items():
            if name != "examples":
                yield from properties(part, schema.get("title", place) if name != "properties" else place)
    elif isinstance(schema, list):
        for part in schema:
            yield from properties(part, place)


def body_of(operation: JSON) -> JSON:
    content: JSON = operation.get("requestBody", {}).get("content", {})
    return content


def test_every_field_is_described() -> None:
    fields = [
        *properties(DOCUMENT["components"]["schemas"], ""),
        *(found for name, operation in told() for found in properties(body_of(operation), name)),
    ]
    assert len(fields) > 700
    assert [place for place, given in fields if not given.get("description")] == []


def test_every_route_and_every_parameter_is_described() -> None:
    for name, operation in told():
        assert not operation["description"].startswith("\n"), name
        assert operation["tags"][0] in TAGS
        for parameter in operation["parameters"]:
            assert parameter.get("description"), f"{name}: {parameter['name']}"


def test_every_answer_is_described_and_those_that_fail_are_problems() -> None:
    shared = DOCUMENT["components"]["responses"]
    for name, operation in told():
        for status, given in operation["responses"].items():
            answer = shared[status] if "$ref" in given else given
            assert answer["description"] not in ("", "OK"), f"{name}: {status}"
            assert "X-Request-ID" in answer["headers"], f"{name}: {status}"
            if int(status) >= 400:
                assert [*answer["content"]] == ["application/problem+json"]
                example = answer["content"]["application/problem+json"]["example"]
                assert example["status"] == int(status)


def test_bodies_come_with_examples_that_fit_them() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for name, operation in told():
        for kind, media in body_of(operation).items():
            if kind != "application/json":
                continue
            reference = media["schema"].get("$ref", "").rpartition("/")[2]
            assert reference in EXAMPLES or media["schema"]["examples"], f"{name} has no example"
    for name, examples in EXAMPLES.items():
        inlined = [part for part in MESSAGE_BODY["anyOf"] if part["title"] == name]
        schema = inlined[0] if inlined else {**schemas[name], "components": DOCUMENT["components"]}
        for example in examples:
            jsonschema_rs.validate(schema, example)


MESSAGE_BODY: JSON = body_of(DOCUMENT["paths"]["/api/v1/sessions/{session_id}/messages"]["post"])[
    "application/json"
]["schema"]


def test_no_word_of_a_glossary_is_left_over_or_stands_in_two() -> None:
    names = Counter(name for glossary in GLOSSARIES for name in glossary)
    assert [name for name, times in names.items() if times > 1] == []
    texts = json.dumps(DOCUMENT, ensure_ascii=False)
    assert [name for name, words in WORDS.items() if json.dumps(words, ensure_ascii=False) not in texts] == []


def test_conflicts_are_told_of_routes_that_exist() -> None:
    routes = {operation.view_func.__name__ for _, operation in operations(assembled)}
    assert CONFLICTS.keys() <= routes


@pytest.mark.parametrize(
    ("name", "statuses", "parameters"),
    [
        ("GET /api/v1/sessions", {"200"}, set()),
        ("POST /api/v1/sessions", {"200", "201", "413", "415"}, {"Idempotency-Key"}),
        ("POST /api/v1/sessions/{session_id}/clear", {"200", "409", "413"}, {"Idempotency-Key"}),
        ("PUT /api/v1/memory", {"200", "409", "413", "415"}, set()),
        ("POST /api/v1/skills/recommend", {"200", "413", "415"}, set()),
    ],
)
def test_a_route_tells_what_it_may_answer(name: str, statuses: set[str], parameters: set[str]) -> None:
    operation = dict(told())[name]
    always = set(PROBLEMS) - {"413", "415"}
    assert operation["responses"].keys() == statuses | always
    headers = {found["name"] for found in operation["parameters"] if found["in"] == "header"}
    assert headers == parameters
    assert operation["security"] == [{"KeyAuth": []}, {"KeyAuth": [], "AgentHeader": []}]


def test_what_is_published_is_what_is_described(api: Api) -> None:
    assert said(api.get("/openapi.json")) == DOCUMENT
