"""Whether Daybook is up and can serve, as a load balancer asks."""

from datetime import UTC, datetime, timedelta

import pytest
import redis
from django.db import OperationalError
from django.db.migrations.executor import MigrationExecutor
from django.test import Client

from config import broker, health

NOT_READY = {"type": "about:blank", "title": "Not ready", "status": 503}


def test_healthz_needs_neither_database_nor_broker(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_readyz_names_what_it_looked_at_and_how_old_the_last_beat_is(client: Client) -> None:
    broker.record_beat(datetime.now(UTC) - timedelta(seconds=3600))
    response = client.get("/readyz")
    assert response.status_code == 200
    answer = response.json()
    assert 3600 <= answer.pop("last_beat_age_seconds") < 3700
    assert answer == {"status": "ready", "checks": {"database": "ok", "broker": "ok", "migrations": "ok"}}


@pytest.mark.django_db
def test_readyz_is_ready_before_the_first_beat(client: Client) -> None:
    broker.client().delete(broker.BEAT_KEY)
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json()["last_beat_age_seconds"] is None


@pytest.mark.django_db
def test_readyz_says_that_the_broker_is_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> bool:
        raise redis.ConnectionError("secret address")

    monkeypatch.setattr(broker, "answers", away)
    response = client.get("/readyz")
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json() == NOT_READY | {
        "detail": "broker: does not answer",
        "checks": {"database": "ok", "broker": "does not answer", "migrations": "ok"},
    }
    assert response.status_code == 503


@pytest.mark.django_db
def test_readyz_counts_the_migrations_that_are_missing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_migrated", set())
    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda *_: ["one", "two"])
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["detail"] == "migrations: 2 not applied"


def test_readyz_says_that_the_database_is_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        alias = "default"

        def cursor(self) -> None:
            raise OperationalError("password of the database")

    def no_plan(connection: object) -> None:
        raise OperationalError("password of the database")

    monkeypatch.setattr(health, "_migrated", set())
    monkeypatch.setattr(health, "connection", Away())
    monkeypatch.setattr(health, "MigrationExecutor", no_plan)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"] == {
        "database": "does not answer",
        "broker": "ok",
        "migrations": "unknown, because the database does not answer",
    }
    assert b"password" not in response.content
