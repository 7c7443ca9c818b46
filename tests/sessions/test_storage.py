"""Statements of our own beside Django's: in the same transaction, be they its first or its last."""

import pytest
from django.db import connection, transaction

from sessions_app.models import Agent
from sessions_app.storage import storage

RENAME = "UPDATE sessions_app_agent SET timezone = %s WHERE id = %s RETURNING id"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("first", [True, False])
def test_a_statement_is_taken_back_with_its_transaction(first: bool) -> None:
    agent = Agent.objects.create(name="main")
    with transaction.atomic():
        if not first:
            assert Agent.objects.count() == 1
        assert storage().rows(RENAME, ("Asia/Tokyo", agent.pk)) == [(agent.pk,)]
        transaction.set_rollback(True)
    agent.refresh_from_db()
    assert agent.timezone == "UTC"


@pytest.mark.django_db(transaction=True)
def test_outside_of_one_it_is_stored_at_once() -> None:
    agent = Agent.objects.create(name="main")
    storage().rows(RENAME, ("Asia/Tokyo", agent.pk))
    connection.close()
    agent.refresh_from_db()
    assert agent.timezone == "Asia/Tokyo"
