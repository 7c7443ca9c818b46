"""An outbox for tests: connections to real receivers, and rounds that run until nothing is due."""

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections
from django.utils import timezone

from gateway_app import dispatch
from gateway_app.models import Platform
from sessions_app.models import Agent
from tests.conftest import Api, said

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()


def connect(platform: str, url: str, agent: str = "main", **fields: Any) -> Platform:
    return Platform.objects.create(
        agent=Agent.objects.get(name=agent),
        platform=platform,
        webhook_url=url,
        webhook_secret=SECRET,
        **fields,
    )


def queue(api: Api, target: str, content: str = "Good morning.", **fields: Any) -> str:
    response = api.post("/deliveries", {"target": target, "content": content, **fields})
    assert response.status_code == 202, response.content
    delivery_id: str = said(response)["id"]
    return delivery_id


def read(api: Api, delivery_id: str) -> dict[str, Any]:
    response = api.get(f"/deliveries/{delivery_id}")
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = said(response)
    return answer


def fate(api: Api, delivery_id: str) -> tuple[str, int, str | None]:
    shown = read(api, delivery_id)
    return shown["state"], shown["attempts"], shown["last_error"]


def round_of_deliveries(share: float = 1.0) -> int:
    """How many attempts were made; chance always gives that share of the longest wait."""
    return dispatch.deliver_due(timezone.now, chance=lambda: share)


@contextmanager
def rounds_beside_the_test() -> Iterator[threading.Thread]:
    """A round in a thread of its own, for tests that look while something is being sent."""

    def run() -> None:
        try:
            round_of_deliveries()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield thread
    thread.join(60)
    assert not thread.is_alive()
