"""What becomes of a delivery, with receivers on real sockets: they fail, hang, redirect and ask to wait."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connections
from standardwebhooks.webhooks import Webhook

from gateway_app import dispatch
from gateway_app.models import Platform
from gateway_app.retries import Verdict
from gateway_app.webhooks import Outcome
from tests.conftest import Api
from tests.operations.daybook import until

from .conftest import Clock, Resolve
from .outgoing import SECRET, connect, fate, queue, read, round_of_deliveries, rounds_beside_the_test
from .receiver import Receiver, answer, receiving


def test_the_receiver_gets_what_the_contract_says(
    clock: Clock, resolve: Resolve, api: Api, receiver: Receiver
) -> None:
    connect("telegram", receiver.url)
    session = resolve()["session"]["id"]
    delivery_id = queue(api, "telegram:9:t", "né\n✓", session_id=session)
    now = clock.now
    assert round_of_deliveries() == 1

    [request] = receiver.requests
    body = {
        "id": delivery_id,
        "platform": "telegram",
        "chat_id": "9",
        "thread_id": "t",
        "content": "né\n✓",
        "session_id": session,
        "created_at": now.isoformat(),
    }
    assert json.loads(request.body) == body
    assert request.headers["webhook-id"] == delivery_id
    assert request.headers["webhook-timestamp"] == str(int(now.timestamp()))
    assert Webhook(SECRET).verify(request.body, request.headers) == body
    shown = read(api, delivery_id)
    assert (shown["state"], shown["attempts"], shown["delivered_at"]) == ("delivered", 1, now.isoformat())
    assert round_of_deliveries() == 0


def test_a_receiver_that_fails_is_tried_again_after_steps_that_double(
    clock: Clock, api: Api, receiver: Receiver
) -> None:
    connect("telegram", receiver.url)
    delivery_id = queue(api, "telegram:1")
    receiver.will(answer(500), answer(503), answer(408))
    for attempts, (seconds, status) in enumerate([(5, 500), (10, 503), (20, 408)], 1):
        assert round_of_deliveries() == 1
        assert fate(api, delivery_id) == ("retrying", attempts, f"The webhook answered {status}.")
        due = clock.now + timedelta(seconds=seconds)
        assert read(api, delivery_id)["next_attempt_at"] == due.isoformat()
        clock.move(seconds=seconds - 1)
        assert round_of_deliveries() == 0
        clock.move(seconds=1)
    assert round_of_deliveries() == 1
    assert fate(api, delivery_id) == ("delivered", 4, None)
    # The same id each time, so that the receiver can drop repeats; the signature is of its own time.
    assert {request.headers["webhook-id"] for request in receiver.requests} == {delivery_id}
    assert len({request.headers["webhook-timestamp"] for request in receiver.requests}) == 4


def test_after_the_last_attempt_it_is_dead(clock: Clock, api: Api, receiver: Receiver, settings: Any) -> None:
    settings.DELIVERY_ATTEMPTS = 3
    connect("telegram", receiver.url)
    delivery_id = queue(api, "telegram:1")
    receiver.will(*[answer(500)] * 3)
    for state in ("retrying", "retrying", "dead"):
        round_of_deliveries()
        assert read(api, delivery_id)["state"] == state
        clock.move(days=1)
    assert round_of_deliveries() == 0
    assert fate(api, delivery_id) == ("dead", 3, "The webhook answered 500.")
    assert read(api, delivery_id)["next_attempt_at"] is None


@pytest.mark.parametrize("header", ["120", "Fri, 01 May 2026 12:02:00 GMT"])
def test_a_receiver_that_asks_to_wait_is_not_asked_before(
    clock: Clock, api: Api, receiver: Receiver, header: str
) -> None:
    connect("telegram", receiver.url)
    delivery_id = queue(api, "telegram:1")
    receiver.will(answer(429, f"Retry-After: {header}"))
    round_of_deliveries()
    assert fate(api, delivery_id) == ("retrying", 1, "The webhook answered 429.")
    clock.move(seconds=119)
    assert round_of_deliveries() == 0
    clock.move(seconds=1)
    assert round_of_deliveries() == 1
    assert fate(api, delivery_id)[:2] == ("delivered", 2)


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 410, 422])
def test_a_permanent_error_is_dead_at_once(clock: Clock, api: Api, receiver: Receiver, status: int) -> None:
    connect("telegram", receiver.url)
    delivery_id = queue(api, "telegram:1")
    receiver.will(answer(status, f"Location: {receiver.url}/elsewhere", "Retry-After: 1"))
    round_of_deliveries()
    assert fate(api, delivery_id) == ("dead", 1, f"The webhook answered {status}.")
    clock.move(days=2)
    assert round_of_deliveries() == 0
    assert [request.target for request in receiver.requests] == ["/hook"]


def test_a_receiver_that_hangs_is_tried_again(api: Api, receiver: Receiver, settings: Any) -> None:
    settings.WEBHOOK_TIMEOUT_SECONDS = 0.2
    connect("telegram", receiver.url)
    delivery_id = queue(api, "telegram:1")
    receiver.will(receiver.hang)
    assert round_of_deliveries() == 1
    assert fate(api, delivery_id) == ("retrying", 1, "The webhook did not answer within 0.2 s.")


def test_a_loopback_address_is_refused_unless_an_operator_allows_it(
    api: Api, receiver: Receiver, settings: Any
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = False
    connect("telegram", receiver.url)
    delivery_id = queue(api, "telegram:1")
    round_of_deliveries()
    assert fate(api, delivery_id) == (
        "dead",
        1,
        "The webhook leads to 127.0.0.1, which is no public address.",
    )
    assert receiver.requests == []


@pytest.mark.parametrize("change", [{"enabled": False}, {"webhook_url": ""}, None])
def test_a_connection_that_has_gone_meanwhile_is_a_dead_end(
    api: Api, receiver: Receiver, change: dict[str, Any] | None
) -> None:
    connect("telegram", receiver.url)
    delivery_id = queue(api, "telegram:1")
    if change is None:
        Platform.objects.all().delete()
    else:
        Platform.objects.update(**change)
    round_of_deliveries()
    assert fate(api, delivery_id) == ("dead", 1, "The platform is not connected any more.")
    assert receiver.requests == []


def test_one_failing_target_does_not_hold_up_others(clock: Clock, api: Api, receiver: Receiver) -> None:
    with receiving() as broken:
        connect("broken", broken.url)
        connect("telegram", receiver.url)
        broken.will(*[answer(500)] * 9)
        failing = [queue(api, f"broken:{number}") for number in range(9)]
        arriving = [queue(api, f"telegram:{number}") for number in range(9)]
        assert round_of_deliveries() == 18
    assert {fate(api, delivery_id)[0] for delivery_id in failing} == {"retrying"}
    assert {fate(api, delivery_id)[0] for delivery_id in arriving} == {"delivered"}


@pytest.mark.django_db(transaction=True)
def test_a_slow_platform_holds_four_places_and_leaves_the_rest_to_others(
    api: Api, receiver: Receiver
) -> None:
    with receiving() as slow:
        connect("slow", slow.url)
        connect("telegram", receiver.url)
        slow.will(*[slow.hang_then_accept] * 20)
        hanging = [queue(api, f"slow:{number}") for number in range(20)]
        arriving = [queue(api, f"telegram:{number}") for number in range(20)]
        with rounds_beside_the_test():
            until(
                lambda: {fate(api, delivery_id)[0] for delivery_id in arriving} == {"delivered"},
                "the deliveries behind the slow ones",
            )
            assert len(slow.requests) == 4
            states = [fate(api, delivery_id)[0] for delivery_id in hanging]
            assert states == ["sending"] * 4 + ["queued"] * 16
            slow.released.set()
    assert {fate(api, delivery_id) for delivery_id in hanging} == {("delivered", 1, None)}


@pytest.mark.django_db(transaction=True)
def test_no_database_connection_is_held_while_something_is_sent(api: Api) -> None:
    delivery_id = queue(api, "local")
    rounds = connections["default"]
    senders: list[Any] = []

    def attempt(taken: dispatch.Claim) -> Outcome:
        until(lambda: rounds.connection is None, "the round to let its connection go")
        senders.append(connections["default"].connection)
        return Outcome(Verdict.DELIVERED)

    dispatch.deliver_due(lambda: datetime.now(UTC), attempt=attempt)
    assert senders == [None]
    assert fate(api, delivery_id)[0] == "delivered"
