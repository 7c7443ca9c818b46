"""Deliveries over real processes: web, broker, worker and receiver, some of which are killed on the way."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from django.utils import timezone
from standardwebhooks.webhooks import Webhook

from gateway_app.models import Delivery
from tests.conftest import Api
from tests.gateway.outgoing import SECRET, connect
from tests.gateway.receiver import Receiver, receiving
from tests.operations.daybook import until

from .broker import Broker
from .test_kill import Web
from .worker import Worker

DELIVER = "gateway_app.tasks.deliver_due"
ALLOWED = {"DAYBOOK_WEBHOOK_ALLOW_PRIVATE": "true"}


@dataclass(frozen=True)
class Line:
    """From the one who posts to the one who receives."""

    api: Api
    web: Web
    broker: Broker
    worker: Worker
    receiver: Receiver

    def post(self, content: str) -> str:
        answer = httpx.post(
            f"http://127.0.0.1:{self.web.port}/api/v1/deliveries",
            json={"target": "telegram:1", "content": content},
            headers={"Authorization": f"Bearer {self.api.secret}"},
            timeout=60,
        )
        assert answer.status_code == 202
        delivery_id: str = answer.json()["id"]
        return delivery_id

    def arrived(self) -> list[str]:
        """The ids in the order in which they came, each with a signature that holds."""
        for request in self.receiver.requests:
            Webhook(SECRET).verify(request.body, request.headers)
        return [request.headers["webhook-id"] for request in self.receiver.requests]


@pytest.fixture
def line(transactional_db: None, api: Api, tmp_path: Path) -> Iterator[Line]:
    broker = Broker(tmp_path / "broker")
    web = Web(tmp_path / "web.log", REDIS_URL=broker.url)
    worker = Worker(tmp_path / "worker.log", broker.url, **ALLOWED)
    try:
        with receiving() as receiver:
            connect("telegram", receiver.url)
            yield Line(api, web, broker, worker, receiver)
    finally:
        worker.end()
        web.kill()
        broker.kill()


def state(delivery_id: str) -> tuple[str, int]:
    return Delivery.objects.values_list("state", "attempts").get(uid=delivery_id)


def is_delivered(delivery_id: str) -> bool:
    return state(delivery_id)[0] == "delivered"


def test_a_worker_killed_while_it_sends_loses_nothing_and_the_id_stays(line: Line) -> None:
    line.receiver.will(line.receiver.hang)
    first = line.post("first")
    assert line.receiver.arrived.acquire(timeout=60)
    line.worker.kill()
    second = line.post("second")
    assert state(first) == ("sending", 1)
    assert state(second) == ("queued", 0)

    # The claim of the killed worker runs out.
    Delivery.objects.filter(uid=first).update(next_attempt_at=timezone.now())
    line.worker.start()
    line.worker.ask(DELIVER)
    until(lambda: is_delivered(first) and is_delivered(second), "both deliveries")
    assert (state(first), state(second)) == (("delivered", 2), ("delivered", 1))
    assert sorted(line.arrived()) == sorted([first, first, second])


def test_a_broker_that_restarts_costs_no_delivery(line: Line) -> None:
    before = line.post("before")
    until(lambda: is_delivered(before), "the first delivery")

    line.broker.kill()
    meanwhile = line.post("meanwhile")
    assert state(meanwhile) == ("queued", 0)

    line.broker.start()
    line.worker.ask(DELIVER)
    until(lambda: is_delivered(meanwhile), "the one that was posted without a broker")
    # No schedule is needed once the broker is back: the web process calls the worker again.
    after = line.post("after")
    until(lambda: is_delivered(after), "the one that was posted afterwards")
    assert line.arrived() == [before, meanwhile, after]
