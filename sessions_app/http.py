"""Between HTTP and the functions that hold the rules: bodies in, bytes out, retries answered once."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.http import HttpRequest, HttpResponse
from django.utils.datastructures import MultiValueDict
from ninja.parser import Parser
from ninja.types import DictStrAny

from sessions_app import strict_json
from sessions_app.access import caller
from sessions_app.commits import commit
from sessions_app.idempotency import Answer, Request, identify, known, once
from sessions_app.problems import BadRequest, UnsupportedMediaType, invalid


class StrictParser(Parser):
    def parse_body(self, request: HttpRequest) -> DictStrAny:
        body: DictStrAny = json_body(request)
        return body

    def parse_querydict(
        self,
        data: "MultiValueDict[str, str]",
        list_fields: list[str],
        request: HttpRequest,
    ) -> DictStrAny:
        found = super().parse_querydict(data, list_fields, request)
        for name, value in found.items():
            if any("\x00" in text for text in (name, *([value] if isinstance(value, str) else value))):
                raise invalid(
                    ["query", name.replace("\x00", "")], "NUL characters cannot be stored.", "nul_character"
                )
        return found


def json_body(request: HttpRequest) -> Any:
    length = int(request.META.get("CONTENT_LENGTH") or 0)
    return json_of(request.body, length, request.content_type or "application/json")


def json_of(raw: bytes, length: int, kind: str = "application/json") -> Any:
    if len(raw) < length:
        # What is there may be good JSON by chance; the sender had more to say.
        raise BadRequest("The body ended before it was complete.")
    if not raw:
        return {}
    if kind != "application/json" and not kind.endswith("+json"):
        raise UnsupportedMediaType(f"The body is {kind}; it must be application/json.")
    return strict_json.loads(raw)


def json_answer(body: Any, status: int = 200) -> HttpResponse:
    return HttpResponse(orjson.dumps(body), status=status, content_type="application/json")


def made(body: Any, status: int = 201, session: UUID | None = None) -> Answer:
    return Answer(status, orjson.dumps(body), session)


def answer_once(
    request: HttpRequest, work: Callable[[], Answer], now: datetime, *, one_statement: bool = False
) -> HttpResponse:
    """Do the work of a POST in one transaction; under an Idempotency-Key, only the first time."""
    return answer_made(request, work, now, lambda: request.body, one_statement=one_statement)


def answer_made(
    request: HttpRequest,
    work: Callable[[], Answer],
    now: datetime,
    identity: Callable[[], bytes],
    *,
    one_statement: bool = False,
) -> HttpResponse:
    """The same where the body is no text to be held: `identity` is what makes two of them the same."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return _http(commit(work, one_statement=one_statement))
    return _http(once_for(identify(caller(request), request.path, key, identity()), work, now))


def answered_before(request: HttpRequest, now: datetime) -> HttpResponse | None:
    """For work that holds no transaction, and so can only look before it begins; `answer_once` ends it."""
    key = request.headers.get("Idempotency-Key")
    found = key and known(identify(caller(request), request.path, key, request.body), now)
    return _http(found) if found else None


def once_for(asked: Request, work: Callable[[], Answer], now: datetime) -> Answer:
    return commit(lambda: once(asked, work, now))


def _http(answer: Answer) -> HttpResponse:
    response = HttpResponse(answer.body, status=answer.status, content_type="application/json")
    if answer.replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return response
