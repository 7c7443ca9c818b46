"""Who sends what: claims that run out, places of a platform, results that come late or cannot be stored."""

import threading
from typing import Any

import pytest
from django.db import DatabaseError

from gateway_app import dispatch, outbox
from gateway_app.models import Delivery
from gateway_app.retries import Verdict
from gateway_app.webhooks import Outcome
from tests.conftest import Api

from .conftest import Clock
from .outgoing import connect, fate, queue, round_of_deliveries
from .receiver import Receiver


def test_a_claim_that_ran_out_is_sent_again_with_the_same_id(
    clock: Clock, api: Api, receiver: Receiver
) -> None:
    """As after a killed worker: claimed, and never settled."""
    connect("telegram", receiver.url)
    delivery_id = queue(api, "telegram:1")
    [lost] = dispatch.claim(clock.now, 1)
    assert fate(api, delivery_id) == ("sending", 1, None)
    clock.move(seconds=39)
    assert round_of_deliveries() == 0
    clock.move(seconds=1)
    assert round_of_deliveries() == 1
    assert fate(api, delivery_id) == ("delivered", 2, None)
    # The first sender was only slow: what it has to say comes too late.
    assert not dispatch.settle(lost, Outcome(Verdict.NEVER, "late"), clock.now, lambda: 1.0)
    assert fate(api, delivery_id) == ("delivered", 2, None)
    assert receiver.requests[0].headers["webhook-id"] == delivery_id


def test_one_that_is_lost_at_each_attempt_is_dead(clock: Clock, api: Api, settings: Any) -> None:
    settings.DELIVERY_ATTEMPTS = 2
    delivery_id = queue(api, "local")
    for _ in range(2):
        assert len(dispatch.claim(clock.now, 1)) == 1
        clock.move(minutes=1)
    assert dispatch.claim(clock.now, 1) == []
    assert fate(api, delivery_id) == (
        "dead",
        2,
        "The process that sent it was lost; whether it arrived is not known.",
    )


def test_a_late_result_does_not_revive_what_was_given_up(clock: Clock, api: Api) -> None:
    delivery_id = queue(api, "local")
    [taken] = dispatch.claim(clock.now, 1)
    outbox.give_up(Delivery.objects.all())
    assert not dispatch.settle(taken, Outcome(Verdict.DELIVERED), clock.now, lambda: 1.0)
    assert fate(api, delivery_id)[0] == "dead"


def test_a_result_from_before_an_operators_retry_is_not_taken_for_the_new_one(clock: Clock, api: Api) -> None:
    delivery_id = queue(api, "local")
    [old] = dispatch.claim(clock.now, 1)
    outbox.give_up(Delivery.objects.all())
    clock.move(seconds=1)
    outbox.retry(Delivery.objects.all(), clock.now)
    [new] = dispatch.claim(clock.now, 1)
    assert not dispatch.settle(old, Outcome(Verdict.NEVER, "late"), clock.now, lambda: 1.0)
    assert fate(api, delivery_id)[:2] == ("sending", 1)
    assert dispatch.settle(new, Outcome(Verdict.DELIVERED), clock.now, lambda: 1.0)


def test_claims_of_two_dispatchers_share_the_places_of_a_platform(clock: Clock, api: Api) -> None:
    connect("telegram", "https://hooks.example.org/")
    for number in range(10):
        queue(api, f"telegram:{number}")
    queue(api, "local")
    first, second = dispatch.claim(clock.now, 3), dispatch.claim(clock.now, 16)
    assert [taken.delivery.chat_id for taken in first] == ["0", "1", "2"]
    assert [taken.delivery.chat_id for taken in second] == ["3", ""]
    assert dispatch.claim(clock.now, 16) == []


def test_a_mistake_of_ours_with_one_delivery_does_not_stop_the_others(clock: Clock, api: Api) -> None:
    poison, good = queue(api, "local", "poison"), queue(api, "local", "good")

    def attempt(taken: dispatch.Claim) -> Outcome:
        if taken.delivery.content == "poison":
            raise ZeroDivisionError
        return Outcome(Verdict.DELIVERED)

    assert dispatch.deliver_due(lambda: clock.now, attempt=attempt, chance=lambda: 1.0) == 2
    assert fate(api, poison) == ("retrying", 1, "It failed on our side (ZeroDivisionError).")
    assert fate(api, good)[0] == "delivered"


def test_a_result_that_cannot_be_stored_costs_only_itself(
    clock: Clock, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlucky, lucky = queue(api, "local", "unlucky"), queue(api, "local", "lucky")
    settle = dispatch.settle

    def failing(taken: dispatch.Claim, *rest: Any) -> bool:
        if taken.delivery.content == "unlucky":
            raise DatabaseError
        return settle(taken, *rest)

    monkeypatch.setattr(dispatch, "settle", failing)
    assert round_of_deliveries() == 2
    assert fate(api, lucky)[0] == "delivered"
    assert fate(api, unlucky)[0] == "sending"
    monkeypatch.undo()
    clock.move(minutes=1)
    assert round_of_deliveries() == 1
    assert fate(api, unlucky) == ("delivered", 2, None)


def test_a_round_that_is_stopped_begins_nothing_new(clock: Clock, api: Api) -> None:
    delivery_id = queue(api, "local")
    stopping = threading.Event()
    stopping.set()
    assert dispatch.deliver_due(lambda: clock.now, stopping=stopping) == 0
    assert fate(api, delivery_id)[0] == "queued"
