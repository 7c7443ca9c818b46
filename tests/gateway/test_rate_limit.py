from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import redis
import time_machine
from django.conf import LazySettings
from django.test import override_settings

from gateway_app import rate_limit
from tests.conftest import Api, said
from tests.operations.daybook import free_port

# 42 seconds into a minute.
NOW = datetime(2026, 5, 1, 12, 0, 42, tzinfo=UTC)


@pytest.fixture(autouse=True)
def nothing_counted(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ids of keys come again in other tests, and the time stands still here."""
    monkeypatch.setattr(rate_limit, "WAIT_SECONDS", 30)
    server = redis.Redis.from_url(settings.REDIS_URL)
    for name in server.scan_iter("daybook:rate:*"):
        server.delete(name)
    rate_limit._client.cache_clear()
    with time_machine.travel(NOW, tick=False):
        yield
    rate_limit._client.cache_clear()
    server.close()


def statuses(api: Api, times: int) -> list[int]:
    return [api.get("/sessions").status_code for _ in range(times)]


def test_there_is_no_limit_by_default(api: Api, settings: LazySettings) -> None:
    assert settings.RATE_LIMIT == 0
    assert statuses(api, 20) == [200] * 20


@override_settings(RATE_LIMIT=3)
def test_a_key_over_its_limit_is_told_when_to_come_back(api: Api) -> None:
    assert statuses(api, 3) == [200, 200, 200]
    refused = api.get("/sessions")
    assert refused.status_code == 429
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert refused.headers["Retry-After"] == "18"
    assert said(refused) == {
        "type": "about:blank",
        "title": "Too Many Requests",
        "status": 429,
        "detail": "This key may send 3 requests a minute.",
    }


@override_settings(RATE_LIMIT=3)
def test_the_next_minute_counts_anew(api: Api) -> None:
    assert statuses(api, 4)[-1] == 429
    with time_machine.travel(NOW.replace(minute=1, second=0), tick=False):
        assert statuses(api, 4) == [200, 200, 200, 429]


@override_settings(RATE_LIMIT=3)
def test_each_key_has_a_limit_of_its_own(api: Api, reader: Api) -> None:
    assert statuses(api, 4)[-1] == 429
    assert statuses(reader, 1) == [200]


@override_settings(RATE_LIMIT=3)
def test_a_refused_request_does_nothing(api: Api) -> None:
    statuses(api, 3)
    assert api.post("/sessions", {"key": "late"}).status_code == 429
    with override_settings(RATE_LIMIT=0):
        assert said(api.get("/sessions"))["items"] == []


def test_the_limit_passes_everybody_while_redis_is_away(api: Api, settings: LazySettings) -> None:
    settings.RATE_LIMIT = 3
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    assert statuses(api, 5) == [200] * 5
