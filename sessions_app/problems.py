"""Errors a caller can act on, in the shape of RFC 9457."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypedDict

import orjson
from django.http import HttpResponse
from structlog.contextvars import get_contextvars

CONTENT_TYPE = "application/problem+json"


class FieldError(TypedDict):
    loc: list[str | int]
    msg: str
    type: str


class Problem(Exception):
    status = 500

    def __init__(self, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.headers = dict(headers or {})

    def answer(self) -> HttpResponse:
        return problem_answer(self.status, self.detail, headers=self.headers)


class BadRequest(Problem):
    status = 400


class Unauthorized(Problem):
    status = 401

    def __init__(self, detail: str) -> None:
        super().__init__(detail, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(Problem):
    status = 403


class NotFound(Problem):
    status = 404


class Conflict(Problem):
    status = 409


class TooLarge(Problem):
    status = 413


class UnsupportedMediaType(Problem):
    status = 415


class TooManyRequests(Problem):
    status = 429


class Busy(Problem):
    status = 503


class Invalid(Problem):
    """The request was understood and something in it cannot be: each place is named."""

    status = 422

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(f"{place(error['loc'])}: {error['msg']}" for error in errors[:3]))
        self.errors = list(errors)

    def answer(self) -> HttpResponse:
        return problem_answer(self.status, self.detail, errors=self.errors)


def invalid(loc: Sequence[str | int], msg: str, kind: str = "value_error") -> Invalid:
    return Invalid([{"loc": list(loc), "msg": msg, "type": kind}])


def place(loc: Sequence[str | int]) -> str:
    return ".".join(str(part) for part in loc)


def problem_answer(
    status: int,
    detail: str,
    *,
    errors: Sequence[FieldError] | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    if errors is not None:
        body["errors"] = errors
    if status >= 500:
        body["request_id"] = get_contextvars().get("request_id")
    return HttpResponse(orjson.dumps(body), status=status, content_type=CONTENT_TYPE, headers=headers)
