from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Permission, User
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from gateway_app import sweep
from sessions_app.models import Agent
from tests.conftest import Api, said

from .receiver import Receiver, receiving

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
CHAT = {"platform": "telegram", "chat_id": "42", "chat_type": "dm", "user_id": "42", "user_name": "Ada"}

Resolve = Callable[..., dict[str, Any]]


class Clock:
    """Stands still at noon of a Friday until it is moved."""

    def __init__(self, travelling: time_machine.Traveller) -> None:
        self._travelling = travelling

    @property
    def now(self) -> datetime:
        return datetime.now(UTC)

    def move(self, **amount: float) -> None:
        self._travelling.shift(timedelta(**amount))

    def to(self, text: str) -> None:
        self._travelling.move_to(datetime.fromisoformat(text).replace(tzinfo=UTC))


@pytest.fixture
def clock() -> Iterator[Clock]:
    with time_machine.travel(NOON, tick=False) as travelling:
        yield Clock(travelling)


@pytest.fixture
def resolve(clock: Clock, api: Api) -> Resolve:
    """What a resolve of the chat says; `source` fields and options by name."""

    def send(expected: int | None = None, *, who: Api = api, **given: Any) -> dict[str, Any]:
        options = {name: given.pop(name) for name in ("force_new", "touch") if name in given}
        response = who.post("/resolve", {"source": {**CHAT, **given}, **options})
        assert response.status_code == expected if expected else response.status_code in (200, 201)
        answer: dict[str, Any] = said(response)
        assert answer["created"] is (response.status_code == 201)
        return answer

    return send


@pytest.fixture
def policy(clock: Clock, admin: Api) -> Callable[..., dict[str, Any]]:
    def put(mode: str, **fields: Any) -> dict[str, Any]:
        response = admin.send("PUT", "/reset-policies", {"mode": mode, **fields})
        assert response.status_code == 200, response.content
        answer: dict[str, Any] = said(response)
        return answer

    return put


@pytest.fixture
def sweep_all(clock: Clock) -> Callable[[], int]:
    """Runs the sweep until it has nothing to do; how many rows it looked at."""

    def run() -> int:
        looked_at = 0
        while count := sweep.step(clock.now):
            looked_at += count
        return looked_at

    return run


@pytest.fixture
def agent(api: Api) -> Agent:
    return Agent.objects.get(name="main")


def admin_page(model: type[Model], kind: str = "changelist", *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{kind}", args=args)


@pytest.fixture
def operator(db: None) -> Client:
    """A superuser, logged in to the admin."""
    client = Client()
    client.force_login(User.objects.create_superuser("operator"))
    return client


@pytest.fixture
def staff(db: None) -> Callable[..., Client]:
    """Somebody who may log in to the admin, with these rights and no others."""

    def make(*rights: str) -> Client:
        user = User.objects.create_user("staff", is_staff=True)
        ours = Permission.objects.filter(content_type__app_label__in=("gateway_app", "sessions_app"))
        user.user_permissions.set(ours.filter(codename__in=rights))
        assert user.user_permissions.count() == len(rights)
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """A webhook on this machine, which an operator has allowed."""
    settings.WEBHOOK_ALLOW_PRIVATE = True
    with receiving() as receiver:
        yield receiver
