"""Whatever is sent: a clear refusal, and nothing stored."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.http import HttpResponse

from sessions_app.models import IdempotentAnswer, Message, Session
from tests.conftest import Api, said

DEEP = '{"role": "user", "content": "x", "metadata": {"d": %s}}'


def refused(response: HttpResponse, status: int, *loc: str | int) -> None:
    assert response.status_code == status, response.content
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = said(response)
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]
    assert ("errors" in problem) == (status == 422)
    if status == 422:
        assert list(loc) in [error["loc"] for error in problem["errors"]]
        assert all(error["msg"] and error["type"] for error in problem["errors"])


@contextmanager
def nothing_stored() -> Iterator[None]:
    def rows() -> list[Any]:
        tables = (Session, Message, IdempotentAnswer)
        return [sorted(table._default_manager.values_list(), key=str) for table in tables]

    before = rows()
    yield
    assert rows() == before


@pytest.fixture
def session(api: Api) -> str:
    opened = api.open("k", title="t", metadata={"a": 1})
    api.append(opened, {"role": "user", "content": "first"})
    return opened


NOT_JSON: list[tuple[bytes, int, list[str | int]]] = [
    (b"{", 400, []),
    (b"\xff\xfe", 400, []),
    (b'{"key": "\xc3("}', 400, []),
    (b'{"key": "a\x00b"}', 422, ["body"]),
    (b'{"key": "a\\u0000b"}', 422, ["body", "key"]),
    (b'{"key": "a", "metadata": {"x": [{"y\\u0000": 1}]}}', 422, ["body", "metadata", "x", 0]),
    (b'{"key": "\\ud800"}', 422, ["body", "key"]),
    (b'{"key": "a", "key": "b"}', 422, ["body"]),
    (b'{"key": "a", "metadata": {"n": 9223372036854775808}}', 422, ["body"]),
    (b'{"key": "a", "metadata": {"n": 1e999}}', 422, ["body"]),
    (b'{"key": "a", "metadata": {"n": NaN}}', 422, ["body"]),
    (b'{"key": "a", "metadata": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 422, ["body"]),
    (b'{"key": "a", "metadata": {"d":' + b"[" * 99 + b"]" * 99 + b"}}", 422, ["body"]),
    (b"[]", 422, ["body"]),
    (b'"text"', 422, ["body"]),
    (b"5", 422, ["body"]),
    (b"null", 422, ["body"]),
    (b"", 422, ["body"]),
]


@pytest.mark.parametrize(("raw", "status", "loc"), NOT_JSON)
def test_a_body_that_cannot_be_taken_opens_no_session(
    api: Api, raw: bytes, status: int, loc: list[str | int]
) -> None:
    with nothing_stored():
        refused(api.post("/sessions", raw), status, *loc)


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({}, ["key"]),
        ({"key": None}, ["key"]),
        ({"key": ""}, ["key"]),
        ({"key": 5}, ["key"]),
        ({"key": ["a"]}, ["key"]),
        ({"key": "k" * 513}, ["key"]),
        ({"key": "a", "title": 5}, ["title"]),
        ({"key": "a", "title": "t" * 513}, ["title"]),
        ({"key": "a", "metadata": []}, ["metadata"]),
        ({"key": "a", "metadata": {"x": "x" * 65_529}}, ["metadata"]),
        ({"key": "a", "colour": "red"}, ["colour"]),
    ],
)
def test_a_session_with_a_wrong_field_is_not_opened(api: Api, body: Any, loc: list[str | int]) -> None:
    with nothing_stored():
        refused(api.post("/sessions", body), 422, "body", *loc)


def test_metadata_of_64_kibibytes_is_taken_and_not_one_byte_more(api: Api, session: str) -> None:
    assert api.post("/sessions", {"key": "full", "metadata": {"x": "x" * 65_528}}).status_code == 201
    with nothing_stored():
        # Merged with what is there it would be over.
        refused(
            api.send("PATCH", f"/sessions/{session}", {"metadata": {"x": "x" * 65_528}}),
            422,
            "body",
            "metadata",
        )


@pytest.mark.parametrize(
    ("path", "body", "loc"),
    [
        ("", {"title": 5}, ["title"]),
        ("", {"metadata": "x"}, ["metadata"]),
        ("", {"key": "other"}, ["key"]),
        ("", {"title": "x\x00"}, ["title"]),
        ("/usage", {"input_tokens": -1, "output_tokens": 1}, ["input_tokens"]),
        ("/usage", {"input_tokens": True, "output_tokens": 1}, ["input_tokens"]),
        ("/usage", {"input_tokens": 1.5, "output_tokens": 1}, ["input_tokens"]),
        ("/usage", {"input_tokens": "1", "output_tokens": 1}, ["input_tokens"]),
        ("/usage", {"input_tokens": 1, "output_tokens": 2**40}, ["output_tokens"]),
        ("/usage", {"input_tokens": 1, "output_tokens": 1, "cost_usd": -1}, ["cost_usd"]),
        ("/usage", {"input_tokens": 1, "output_tokens": 1, "cost_usd": "1"}, ["cost_usd"]),
        ("/usage", {"input_tokens": 1, "output_tokens": 1, "model": 5}, ["model"]),
        ("/usage", {"input_tokens": 1, "output_tokens": 1, "extra": 5}, ["extra"]),
        ("/rewind", {"to_seq": 0}, ["to_seq"]),
        ("/rewind", {"to_seq": -1}, ["to_seq"]),
        ("/rewind", {"to_seq": "1"}, ["to_seq"]),
        ("/retain", {"max_messages": -1}, ["max_messages"]),
        ("/fork", {"before_seq": 0}, ["before_seq"]),
        ("/fork", {"key": "k" * 513}, ["key"]),
    ],
)
def test_a_wrong_change_changes_nothing(
    api: Api, session: str, path: str, body: Any, loc: list[str | int]
) -> None:
    with nothing_stored():
        method = "POST" if path else "PATCH"
        refused(api.send(method, f"/sessions/{session}{path}", body), 422, "body", *loc)


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"role": "king", "content": "x"}, ["role"]),
        ({"role": "user", "content": "x", "confidence": 1.5}, ["confidence"]),
        ({"role": "user", "content": "x", "confidence": float("nan")}, []),
        ({"role": "user", "content": "x" * (1024 * 1024 + 1)}, ["content"]),
        ({"role": "user", "content": "é" * (512 * 1024) + "x"}, ["content"]),
        ({"role": "user", "content": "a\x00"}, ["content"]),
        ({"role": "user", "content": "x", "metadata": {"a\x00": 1}}, ["metadata"]),
        ({"role": "user", "content": "\ud800"}, ["content"]),
        ({"role": "user", "content": "x", "n": 10**400}, []),
        ({"messages": []}, ["messages"]),
        ({"messages": [{"role": "user", "content": "x"}] * 1001}, ["messages"]),
        ({"messages": {}}, ["messages"]),
        ({"messages": None}, ["messages"]),
        ({"messages": [5]}, ["messages", 0]),
        ({"messages": [{"role": "user", "content": "x"}], "role": "user"}, ["role"]),
        ([], []),
        ("text", []),
        (b"null", []),
        (b"", ["role"]),
        (DEEP % ("[" * 99 + "]" * 99), []),
    ],
)
def test_a_wrong_message_is_not_stored(api: Api, session: str, body: Any, loc: list[str | int]) -> None:
    raw = json.dumps(body) if isinstance(body, list | dict) or body == "text" else body
    with nothing_stored():
        refused(api.post(f"/sessions/{session}/messages", raw), 422, "body", *loc)


def test_the_largest_that_is_allowed_is_stored(api: Api, session: str) -> None:
    api.append(session, *([{"role": "user", "content": "x"}] * 1000))
    api.append(session, {"role": "user", "content": "é" * (512 * 1024)})
    deepest = DEEP % ("[" * 98 + "]" * 98)
    assert api.post(f"/sessions/{session}/messages", deepest).status_code == 201
    assert said(api.get(f"/sessions/{session}/summary"))["entries"] == 1003


def test_a_body_over_8_mebibytes_is_too_large(api: Api, session: str) -> None:
    for path in ("/sessions", f"/sessions/{session}/messages"):
        with nothing_stored():
            refused(api.post(path, b'"' + b"x" * (9 * 1024 * 1024) + b'"'), 413)


def test_a_body_of_another_type_is_not_read(api: Api, session: str) -> None:
    for path in ("/sessions", f"/sessions/{session}/messages"):
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/xml", "jsonish"):
            with nothing_stored():
                refused(api.post(path, b'{"key": "new"}', Content_Type=kind), 415)


def cursor(*parts: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


UID = "01890000-0000-7000-8000-000000000000"
CURSORS = [
    "x",
    "AAAA",
    "%00",
    "é",
    "a" * 5000,
    cursor(),
    cursor(None, None),
    cursor("2026-05-01T10:00:00+00:00", 5),
    cursor("2026-05-01T10:00:00", UID),
    cursor("0001-01-01T00:00:00+23:59", UID),
    cursor("9999-12-31T23:59:59-23:59", UID),
    cursor(5, UID),
    cursor(UID, -1),
    cursor(UID, 2**63),
    cursor(UID, True),
    cursor({"a": 1}, []),
    cursor([5], 5),
    cursor(-1),
    cursor("1"),
    cursor(1.5),
    base64.urlsafe_b64encode(b"5").decode(),
    base64.urlsafe_b64encode(b'{"a":1}').decode(),
]


@pytest.mark.parametrize("made_up", CURSORS)
def test_a_cursor_that_was_never_given_out_is_refused(api: Api, session: str, made_up: str) -> None:
    for path in ("/sessions", "/messages/recent", f"/sessions/{session}/messages"):
        refused(api.get(f"{path}?cursor={made_up}"), 422, "query", "cursor")


def test_a_cursor_of_another_list_or_agent_shows_nothing(api: Api, stranger: Api, session: str) -> None:
    api.append(session, {"role": "user", "content": "2"})
    api.open("second")
    lists = ("/sessions", "/messages/recent", f"/sessions/{session}/messages")
    cursors = {path: said(api.get(f"{path}?limit=1"))["next_cursor"] for path in lists}
    for path in lists:
        for other in lists:
            if other != path:
                refused(api.get(f"{path}?cursor={cursors[other]}"), 422, "query", "cursor")
    refused(stranger.get(f"/messages/recent?cursor={cursors['/messages/recent']}"), 422, "query", "cursor")
    assert said(stranger.get(f"/sessions?cursor={cursors['/sessions']}"))["items"] == []


LISTS = ("/sessions", "/messages/recent", "/sessions/{id}/messages")
LIMITS = ("0", "-1", "501", "x", "", "1.5", "9" * 5000, "%00")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        *((f"{path}?limit={limit}", "limit") for path in LISTS for limit in LIMITS),
        ("/sessions?active_minutes=0", "active_minutes"),
        ("/sessions?active_minutes=99999999999999999999", "active_minutes"),
        ("/sessions?open=perhaps", "open"),
        ("/sessions?q=%00", "q"),
        ("/sessions?key=a%00", "key"),
        ("/sessions?platform=%00", "platform"),
        ("/sessions?q=" + "x" * 513, "q"),
        ("/sessions?limt=5", "limt"),
        ("/messages/recent?kind=message", "kind"),
        ("/sessions/{id}/messages?kind=note", "kind"),
        ("/sessions/{id}/messages?role=king", "role"),
        ("/sessions/{id}/messages?order=up", "order"),
        ("/sessions/{id}/messages?after=-1", "after"),
        ("/sessions/{id}/messages?after=9223372036854775808", "after"),
        ("/sessions/{id}/messages?before=x", "before"),
        ("/sessions/{id}/messages?include_hidden=2", "include_hidden"),
        ("/sessions/{id}/history?max_messages=0", "max_messages"),
        ("/sessions/{id}/history?nonsense=1", "nonsense"),
    ],
)
def test_a_wrong_query_is_named(api: Api, session: str, path: str, name: str) -> None:
    refused(api.get(path.replace("{id}", session)), 422, "query", name)


@pytest.mark.parametrize(
    "change",
    [
        lambda uid: "x",
        lambda uid: uid.upper(),
        lambda uid: uid.replace("-", ""),
        lambda uid: uid + "0",
        lambda uid: uid[:-1],
        lambda uid: uid + "%0A",
        lambda uid: uid + "%00",
        lambda uid: "{" + uid + "}",
        lambda uid: "%FF%FE",
        lambda uid: "x" * 5000,
        lambda uid: "..%2F..%2Fetc",
        lambda uid: UID,
    ],
)
def test_an_id_that_is_none_is_not_found(api: Api, session: str, change: Callable[[str], str]) -> None:
    wrong = change(session)
    with nothing_stored():
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/messages"), ("GET", "/summary")):
            refused(api.send(method, f"/sessions/{wrong}{path}"), 404)
        refused(api.post(f"/sessions/{wrong}/messages", {"role": "user", "content": "x"}), 404)
        refused(api.get(f"/messages/{wrong}.1"), 404)


@pytest.mark.parametrize(
    "tail", ["", ".", ".0", ".2", ".-1", ".01", ".1.1", ".%D9%A1", ".9223372036854775808", ".x"]
)
def test_a_message_id_that_is_none_is_not_found(api: Api, session: str, tail: str) -> None:
    refused(api.get(f"/messages/{session}{tail}"), 404)


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb", "\x7f"])
def test_an_idempotency_key_that_is_none_is_refused(api: Api, key: str) -> None:
    with nothing_stored():
        refused(api.post("/sessions", {"key": "k"}, Idempotency_Key=key), 422, "header", "Idempotency-Key")


def test_an_idempotency_key_may_have_255_characters(api: Api) -> None:
    assert api.post("/sessions", {"key": "k"}, Idempotency_Key="x" * 255).status_code == 201


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic dTpw",
        "Bearer dbk_nobody",
        "Bearer \xff\xfe",
        "\xff",
        "Bearer " + "x" * 9000,
    ],
)
def test_a_malformed_authorization_is_401(nobody: Api, header: str) -> None:
    response = nobody.get("/sessions", Authorization=header)
    refused(response, 401)
    assert response.headers["WWW-Authenticate"] == "Bearer"
