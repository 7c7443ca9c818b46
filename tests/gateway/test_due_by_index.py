"""What is looked for every minute, or every few seconds, costs by what is due and not by what is stored."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gateway_app import dispatch, sweep
from gateway_app.models import Lease
from sessions_app.models import Session
from tests.conftest import Api

from .conftest import Clock, Resolve
from .plans import explained


def selects(work: Callable[[], object], table: str) -> list[str]:
    with CaptureQueriesContext(connection) as seen:
        work()
    return [query["sql"] for query in seen if f'FROM "{table}"' in query["sql"]]


def test_the_sweep_finds_who_is_due_by_an_index_and_looks_at_nobody_else(
    resolve: Resolve, clock: Clock
) -> None:
    resolve(chat_id="due")
    clock.to("2026-05-02 04:01")
    fresh = resolve(chat_id="fresh")["session"]["id"]
    looked_at: list[int] = []
    due, *_ = selects(lambda: looked_at.append(sweep.step(clock.now)), "sessions_app_session")
    assert "session_reset_due" in explained(due)
    assert looked_at == [1]
    assert str(Session.objects.get(ended_at__isnull=True).uid) == fresh


@pytest.mark.parametrize("work", ["expired leases", "deliveries"])
def test_the_others_are_found_by_an_index_too(work: str, resolve: Resolve, api: Api, clock: Clock) -> None:
    session = resolve()["session"]["id"]
    if work == "deliveries":
        api.post("/deliveries", {"target": "local", "content": "x"})
        [first, *_] = selects(lambda: dispatch.claim(clock.now, 1), "gateway_app_delivery")
        assert "delivery_due" in explained(first)
    else:
        api.send("PUT", f"/sessions/{session}/leases/build", {"ttl_seconds": 1})
        clock.move(seconds=2)
        [first, *_] = selects(lambda: sweep.step(clock.now), "gateway_app_lease")
        assert "expires_at" in explained(first)
        assert not Lease.objects.exists()
