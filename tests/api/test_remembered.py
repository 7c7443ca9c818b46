"""Who was remembered is not looked up again, and whatever has changed since is seen at once all the same."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.wsgi import application
from gateway_app import keys
from gateway_app.models import ApiKey
from sessions_app.models import Agent, Session
from tests.api.test_shortcuts import HELLO, ask
from tests.conftest import Api, said

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Sender:
    """Sends the short way."""

    api: Api
    session: str

    def append(self) -> int:
        return self._send("POST", "messages", HELLO)

    def window(self) -> int:
        return self._send("GET", "history")

    def _send(self, method: str, place: str, body: bytes = b"") -> int:
        path = f"/api/v1/sessions/{self.session}/{place}"
        auth = f"Bearer {self.api.secret}"
        given = ask(
            application, method, path, "", body, HTTP_AUTHORIZATION=auth, CONTENT_TYPE="application/json"
        )
        return int(given.status[:3])

    @property
    def key(self) -> ApiKey:
        return ApiKey.objects.get(digest=keys.digest(self.api.secret))


@pytest.fixture
def sender(api: Api) -> Sender:
    """Whose key has just been looked up, and its use noted."""
    found = Sender(api, api.open())
    assert (found.append(), found.window(), found.append()) == (201, 200, 201)
    return found


def revoke(sender: Sender) -> None:
    keys.revoke(sender.key, datetime.now(UTC))


def expire(sender: Sender) -> None:
    ApiKey.objects.filter(pk=sender.key.pk).update(expires_at=datetime.now(UTC) - timedelta(seconds=1))


def take_every_right(sender: Sender) -> None:
    ApiKey.objects.filter(pk=sender.key.pk).update(scopes=[])


def give_to_another(sender: Sender) -> None:
    ApiKey.objects.filter(pk=sender.key.pk).update(agent=Agent.objects.create(name="another"))


def forget_the_key(sender: Sender) -> None:
    sender.key.delete()


def erase(sender: Sender) -> None:
    assert sender.api.send("DELETE", f"/sessions/{sender.session}").status_code == 204


def end(sender: Sender) -> None:
    assert sender.api.post(f"/sessions/{sender.session}/reset").status_code == 201


@pytest.mark.parametrize(
    ("change", "append", "window"),
    [
        (revoke, 401, 401),
        (expire, 401, 401),
        (take_every_right, 403, 403),
        (give_to_another, 404, 404),
        (forget_the_key, 401, 401),
        (erase, 404, 404),
        (end, 409, 200),
    ],
)
def test_a_change_holds_from_the_next_request_on(
    sender: Sender, change: Callable[[Sender], None], append: int, window: int
) -> None:
    change(sender)
    before = Session.objects.values_list("last_seq", flat=True).filter(uid=sender.session).first()
    assert (sender.append(), sender.window()) == (append, window)
    assert Session.objects.values_list("last_seq", flat=True).filter(uid=sender.session).first() == before


def test_the_agent_is_as_it_is_now(sender: Sender, admin: Api) -> None:
    assert admin.send("PATCH", "/agent", {"timezone": "Asia/Tokyo"}).status_code == 200
    path = f"/api/v1/sessions/{sender.session}/messages"
    body = b'{"role": "user", "content": "hello", "created_at": "2026-05-01T10:00:00"}'
    given: dict[str, Any] = {"HTTP_AUTHORIZATION": f"Bearer {sender.api.secret}"}
    ask(application, "POST", path, "", body, CONTENT_TYPE="application/json", **given)
    last = said(sender.api.get(f"/sessions/{sender.session}/messages?order=desc&limit=1"))["items"][0]
    assert last["created_at"] == "2026-05-01T01:00:00+00:00"


def test_on_postgres_one_statement_asks_and_acts(sender: Sender) -> None:
    assert sender.append() == 201
    with CaptureQueriesContext(connection) as asked:
        assert sender.append() == 201
    statements = [query["sql"] for query in asked if "SAVEPOINT" not in query["sql"]]
    looked_up = [statement for statement in statements if statement.lstrip().startswith("SELECT")]
    # SQLite looks a key up in a few microseconds, which is not worth remembering; it takes two to append.
    assert (len(statements), len(looked_up)) == ((1, 0) if connection.vendor == "postgresql" else (2, 1))


def test_a_use_is_noted_though_nobody_is_looked_up(sender: Sender) -> None:
    with time_machine.travel(NOON, tick=False):
        assert sender.append() == 201
        assert sender.key.last_used_at == NOON
    with time_machine.travel(NOON + timedelta(minutes=2), tick=False):
        assert sender.append() == 201
        assert sender.key.last_used_at == NOON + timedelta(minutes=2)
