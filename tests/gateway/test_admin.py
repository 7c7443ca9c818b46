"""Operators at the admin: every page of every table, by whoever may and may not open it."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib import admin as django_admin
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from gateway_app import people
from gateway_app.models import ApiKey, Delivery, Lease, Person, PersonErasure, Platform, ResetPolicy
from sessions_app.models import (
    Agent,
    Consolidation,
    ConsolidationJob,
    Deletion,
    Import,
    MemoryRevision,
    Message,
    OperatorJob,
    Reflection,
    RetentionRule,
    Run,
    Session,
)
from tests.conftest import Api, said

from .conftest import NOON, Clock
from .conftest import admin_page as page

URL = "https://hooks.example.org/?token=1"
OURS: list[type[Model]] = [
    model for model in django_admin.site._registry if model._meta.app_label in ("gateway_app", "sessions_app")
]
# What is made by agents alone, or by a page of its own, is not added here.
ADDED = {Agent, ApiKey, Import, Person, PersonErasure, Platform, ResetPolicy, RetentionRule}
CHANGED = ADDED - {Import, PersonErasure}
REMOVED = {Person, Platform, ResetPolicy, RetentionRule, Lease}


def of(model: type[Model]) -> str:
    return model.__name__


@pytest.fixture
def rows(clock: Clock, api: Api, admin: Api) -> dict[type[Model], Model]:
    """One row of every table, with everything that a stranger may have put into it."""
    evil = "<script>alert(1)</script>"
    source = {"platform": "telegram", "chat_id": "1", "user_name": evil}
    session = said(api.post("/resolve", {"source": source}))["session"]["id"]
    api.append(session, {"role": "user", "content": evil})
    api.send("PUT", f"/sessions/{session}/leases/{evil}", {"ttl_seconds": 60})
    admin.send("PUT", "/platforms/telegram", {"webhook_url": URL, "home_channel": {"chat_id": evil}})
    admin.send("PUT", "/reset-policies", {"platform": "telegram", "mode": "idle"})
    api.post("/deliveries", {"target": "telegram", "content": evil, "session_id": session})
    agent = Agent.objects.get(name="main")
    ada = Person.objects.create(agent=agent, name=evil)
    people.link(ada, [("telegram", "1"), ("discord", evil)])
    _remembered(agent, evil)
    api.post(f"/sessions/{session}/consolidate")
    api.post("/reflections")
    OperatorJob.objects.create(action="reset", total=1, last_refusal=evil)
    Import.objects.create(agent=agent, format="auto", file_name=evil, size=1, report={"x": evil})
    RetentionRule.objects.create(agent=agent, platform=evil, days=1)
    Deletion.objects.create(agent=agent, reason="retention", rule=evil)
    PersonErasure.objects.create(agent=agent, platform="telegram", user_id=evil)
    found = {model: model._default_manager.order_by("pk").first() for model in OURS}
    assert set(found) == {
        Agent, ApiKey, Consolidation, ConsolidationJob, Deletion, Delivery, Import, Lease, MemoryRevision,
        Message, OperatorJob, Person, PersonErasure, Platform, Reflection, ResetPolicy, RetentionRule, Run,
        Session,
    }  # fmt: skip
    return {model: row for model, row in found.items() if row is not None}


def _remembered(agent: Agent, text: str) -> None:
    session = Session.objects.get()
    Consolidation.objects.create(
        agent=agent, session=session, from_seq=1, through_seq=1, trigger="asked", engine="extractive",
        entries=1, tokens_before=1, tokens_after=1, summary=text, discarded_at=NOON,
    )  # fmt: skip
    MemoryRevision.objects.create(agent=agent, version=1, content=text, author=text)
    Run.objects.create(agent=agent, name="consolidate", last_error=text)


def opened(client: Client, address: str, status: int = 200) -> str:
    response = client.get(address)
    assert response.status_code == status, (address, response.status_code)
    text = response.content.decode()
    assert "<script>alert(1)" not in text
    return text


def filters(client: Client, address: str) -> Iterator[str]:
    changes: Any = client.get(address).context
    found = changes["cl"]
    for spec in found.filter_specs:
        for choice in spec.choices(found):
            yield address + choice["query_string"]


@pytest.mark.parametrize("model", OURS, ids=of)
def test_every_page_opens_for_a_superuser(
    rows: dict[type[Model], Model], operator: Client, model: type[Model]
) -> None:
    address = page(model)
    assert "1 " in opened(operator, address)
    for filtered in filters(operator, address):
        opened(operator, filtered)
    for term in ("x", "<script>", "%", "", "\u0130", "00000000-0000-7000-8000-000000000000.1"):
        opened(operator, f"{address}?q={term}")
    opened(operator, page(model, "add"), 200 if model in ADDED else 403)
    change = opened(operator, page(model, "change", rows[model].pk))
    assert ('name="_save"' in change) is (model in CHANGED)
    opened(operator, page(model, "history", rows[model].pk))
    opened(operator, page(model, "delete", rows[model].pk), 200 if model in REMOVED else 403)


@pytest.mark.parametrize("model", OURS, ids=of)
def test_nothing_opens_without_the_right_to_it(
    rows: dict[type[Model], Model], staff: Callable[..., Client], model: type[Model]
) -> None:
    client = staff()
    assert "have permission to view or edit anything" in opened(client, reverse("admin:index"))
    for kind, args in (("changelist", ()), ("add", ()), ("change", (rows[model].pk,))):
        opened(client, page(model, kind, *args), 403)
    for kind in ("delete", "history"):
        opened(client, page(model, kind, rows[model].pk), 403)
    assert client.post(page(model, "change", rows[model].pk), {}).status_code == 403


@pytest.mark.parametrize("model", OURS, ids=of)
def test_who_may_only_look_changes_nothing(
    rows: dict[type[Model], Model], staff: Callable[..., Client], model: type[Model]
) -> None:
    client = staff(f"view_{model._meta.model_name}")
    address = page(model)
    assert '<select name="action"' not in opened(client, address)
    change = opened(client, page(model, "change", rows[model].pk))
    assert 'name="_save"' not in change
    opened(client, page(model, "add"), 403)
    opened(client, page(model, "delete", rows[model].pk), 403)
    before = model._default_manager.order_by("pk").values().last()
    assert client.post(page(model, "change", rows[model].pk), {"name": "x"}).status_code == 403
    for action in ("revoke", "rotate", "send_again", "give_up", "delete_selected"):
        client.post(address, {"action": action, "_selected_action": rows[model].pk, "post": "yes"})
    assert model._default_manager.order_by("pk").values().last() == before
    others = [other for other in OURS if other is not model]
    assert [other for other in others if client.get(page(other)).status_code != 403] == []


@pytest.mark.parametrize("model", OURS, ids=of)
def test_whoever_is_not_logged_in_is_sent_to_the_login(
    rows: dict[type[Model], Model], model: type[Model]
) -> None:
    response: Any = Client().get(page(model))
    assert (response.status_code, response.url) == (302, f"/admin/login/?next={page(model)}")


def test_no_page_shows_a_secret(rows: dict[type[Model], Model], operator: Client) -> None:
    secret, key = Platform.objects.get().webhook_secret, ApiKey.objects.earliest("pk")
    for model in OURS:
        for address in (page(model), page(model, "change", rows[model].pk)):
            text = opened(operator, address)
            assert secret not in text
            assert key.digest not in text


def fill(agent: Agent, numbers: range) -> None:
    made = Session.objects.bulk_create(
        Session(agent=agent, key=f"k{number}", platform="telegram", last_seq=1, messages_count=1)
        for number in numbers
    )
    Message.objects.bulk_create(
        Message(agent=agent, session=row, seq=1, kind="message", role="user", body="{}", created_at=NOON)
        for row in made
    )


@pytest.mark.parametrize("model", [Session, Message], ids=of)
def test_a_list_of_a_thousand_takes_as_many_queries_as_a_list_of_ten(
    api: Api, operator: Client, model: type[Model]
) -> None:
    agent = Agent.objects.get(name="main")
    counts, found = [], []
    for numbers in (range(10), range(10, 1000)):
        fill(agent, numbers)
        operator.get(page(model))
        with CaptureQueriesContext(connection) as queries:
            response: Any = operator.get(page(model))
        counts.append(len(queries))
        found.append(len(response.context["cl"].result_list))
        assert [query["sql"] for query in queries if "COUNT(" in query["sql"]] == []
    assert counts[0] == counts[1] <= 8
    assert found == [10, 50]


def shown(response: Any) -> list[str]:
    return [row.key for row in response.context["cl"].result_list]


def keys(numbers: range) -> list[str]:
    return [f"k{number}" for number in numbers]


def test_a_long_list_is_turned_page_by_page_forth_and_back(api: Api, operator: Client) -> None:
    fill(Agent.objects.get(name="main"), range(130))
    first: Any = operator.get(page(Session))
    assert shown(first) == keys(range(129, 79, -1))
    assert first.context["cl"].newer is None
    second: Any = operator.get(page(Session) + first.context["cl"].older)
    assert shown(second) == keys(range(79, 29, -1))
    third: Any = operator.get(page(Session) + second.context["cl"].older)
    assert shown(third) == keys(range(29, -1, -1))
    assert third.context["cl"].older is None
    back: Any = operator.get(page(Session) + third.context["cl"].newer)
    assert shown(back) == keys(range(79, 29, -1))
    begin: Any = operator.get(page(Session) + back.context["cl"].newer)
    assert shown(begin) == keys(range(129, 79, -1))
    assert begin.context["cl"].newer is None


def test_rows_that_come_meanwhile_shift_no_page(api: Api, operator: Client) -> None:
    agent = Agent.objects.get(name="main")
    fill(agent, range(60))
    first: Any = operator.get(page(Session))
    fill(agent, range(60, 70))
    assert shown(operator.get(page(Session) + first.context["cl"].older)) == keys(range(9, -1, -1))


@pytest.mark.parametrize("cursor", ["", "x", "WzFd1", "WyJhIl0", "W10", "é", "%00"])
def test_a_cursor_that_nobody_gave_out_leads_to_the_first_page(
    api: Api, operator: Client, cursor: str
) -> None:
    fill(Agent.objects.get(name="main"), range(3))
    for name in ("older", "newer"):
        response: Any = operator.get(f"{page(Session)}?{name}={cursor}")
        assert response.status_code == 200
        assert sorted(shown(response)) == ["k0", "k1", "k2"]


@pytest.mark.parametrize("field", ["key", "uid"])
def test_a_session_is_found_by_an_index(api: Api, operator: Client, field: str) -> None:
    fill(Agent.objects.get(name="main"), range(30))
    wanted = Session.objects.get(key="k7")
    with CaptureQueriesContext(connection) as queries:
        response: Any = operator.get(page(Session), {"q": f" {getattr(wanted, field)} "})
    assert list(response.context["cl"].result_list) == [wanted]
    listing = [query["sql"] for query in queries if "k7" in query["sql"] or wanted.uid.hex in bare(query)]
    assert listing
    for sql in listing:
        assert not reads_all(sql, "sessions_app_session"), sql


def test_a_message_is_found_by_an_index(api: Api, operator: Client) -> None:
    fill(Agent.objects.get(name="main"), range(30))
    wanted = Message.objects.select_related("session").get(session__key="k7")
    for term in (wanted.session.uid, f"{wanted.session.uid}.1"):
        with CaptureQueriesContext(connection) as queries:
            response: Any = operator.get(page(Message), {"q": str(term)})
        assert list(response.context["cl"].result_list) == [wanted]
        for sql in (query["sql"] for query in queries if wanted.session.uid.hex in bare(query)):
            assert not reads_all(sql, "sessions_app_message"), sql
    missing: Any = operator.get(page(Message), {"q": f"{wanted.session.uid}.2"})
    assert list(missing.context["cl"].result_list) == []


def bare(query: dict[str, str]) -> str:
    return query["sql"].replace("-", "")


def reads_all(sql: str, table: str) -> bool:
    """Whether a statement has to read a table from end to end, however small that is now."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN {sql}")
            plan = "\n".join(row[0] for row in cursor.fetchall())
            return f"Seq Scan on {table}" in plan
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        plan = "\n".join(row[3] for row in cursor.fetchall())
        return re.search(rf"SCAN {table}", plan) is not None
