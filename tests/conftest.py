"""The cast: an agent with its keys, a colleague with a weaker key, a stranger who must never see anything."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from gateway_app.keys import create_key

BASE = "/api/v1"


@dataclass(frozen=True)
class Api:
    """The API as one key's owner sees it."""

    secret: str
    agent: str | None

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        client = Client(raise_request_exception=False)
        extra: dict[str, Any] = {}
        if body is not None:
            raw = body if isinstance(body, bytes | str) else json.dumps(body)
            extra = {"data": raw, "content_type": "application/json"}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        auth = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        response: Any = client.generic(method, BASE + path, headers={**auth, **given}, **extra)
        answer: HttpResponse = response
        return answer

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.send("POST", path, {} if body is None else body, **headers)

    def open(self, key: str = "telegram:1", **fields: Any) -> str:
        """The id of the open session of a key."""
        session_id: str = said(self.post("/sessions", {"key": key, **fields}))["id"]
        return session_id

    def append(self, session_id: str, *messages: dict[str, Any]) -> dict[str, Any]:
        body = messages[0] if len(messages) == 1 else {"messages": list(messages)}
        response = self.post(f"/sessions/{session_id}/messages", body)
        assert response.status_code == 201, response.content
        appended: dict[str, Any] = said(response)
        return appended

    def window(self, session_id: str, query: str = "") -> dict[str, Any]:
        response = self.get(f"/sessions/{session_id}/history{query}")
        assert response.status_code == 200, response.content
        window: dict[str, Any] = said(response)
        return window


def said(response: HttpResponse) -> Any:
    """What an answer says, read by another JSON reader than the one that wrote it."""
    return json.loads(response.content)


@pytest.fixture
def make_api(db: None) -> Callable[..., Api]:
    def make(agent: str | None = "main", *scopes: str) -> Api:
        return Api(create_key("test", agent, scopes or ("write",))[1], agent)

    return make


@pytest.fixture
def api(make_api: Callable[..., Api]) -> Api:
    return make_api("main", "write")


@pytest.fixture
def reader(make_api: Callable[..., Api]) -> Api:
    """A colleague of the same agent who may only read."""
    return make_api("main", "read")


@pytest.fixture
def admin(make_api: Callable[..., Api]) -> Api:
    return make_api("main", "admin")


@pytest.fixture
def stranger(make_api: Callable[..., Api]) -> Api:
    """Another agent, with every right over its own things."""
    return make_api("other", "admin")


@pytest.fixture
def nobody(db: None) -> Api:
    return Api("", None)
