"""What operators do at the admin has the effect that the same thing has over the API."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from gateway_app import people, policies
from gateway_app.models import Delivery, Identity, Lease, Person, ResetPolicy
from sessions_app.models import Agent, Session
from tests.conftest import Api

from .admin_forms import act, refused, stored, told
from .conftest import NOON, Clock, Resolve, admin_page

AGENT = {
    "token_budget": "5",
    "consolidate_after_minutes": "7",
    "consolidation_engine": "extractive",
    "reflection_hour": "6",
}
POLICY = {"mode": "idle", "idle_minutes": "60", "at_hour": "4"}


def forms(
    *identities: tuple[str, str], stored_: list[Identity] | None = None, **removed: str
) -> dict[str, str]:
    """The fields of the inline forms: those that are stored first, then new ones."""
    rows = stored_ or []
    fields = {
        "identities-TOTAL_FORMS": str(len(rows) + len(identities)),
        "identities-INITIAL_FORMS": str(len(rows)),
        **removed,
    }
    for index, row in enumerate(rows):
        fields |= {f"identities-{index}-id": str(row.pk), f"identities-{index}-person": str(row.person_id)}
        fields |= {f"identities-{index}-platform": row.platform, f"identities-{index}-user_id": row.user_id}
    for index, (platform, user_id) in enumerate(identities, len(rows)):
        fields |= {f"identities-{index}-platform": platform, f"identities-{index}-user_id": user_id}
    return fields


def test_a_person_is_linked(agent: Agent, operator: Client, resolve: Resolve) -> None:
    linked = forms(("Telegram", "42"), ("whatsapp", "+49:1@s.whatsapp.net"), ("", ""))
    stored(operator, admin_page(Person, "add"), name="Ada", agent=agent.pk, **linked)
    ada = Person.objects.get()
    assert sorted(map(str, ada.identities.all())) == ["telegram:42", "whatsapp:49"]
    assert resolve()["session"]["key"] == f"agent:main:@{ada.uid}:dm"


def test_identities_come_and_go(agent: Agent, operator: Client) -> None:
    stored(operator, admin_page(Person, "add"), name="Ada", agent=agent.pk, **forms(("a", "1"), ("b", "2")))
    ada = Person.objects.get()
    rows = list(ada.identities.order_by("platform"))
    fields = forms(("c", "3"), stored_=rows, **{"identities-0-DELETE": "on"})
    stored(operator, admin_page(Person, "change", ada.pk), name="Ada Byron", **fields)
    ada.refresh_from_db()
    assert ada.name == "Ada Byron"
    assert sorted(map(str, ada.identities.all())) == ["b:2", "c:3"]
    message = LogEntry.objects.latest("pk").get_change_message()
    assert "Added identity “c:3”." in message
    assert "Deleted identity “a:1”." in message


@pytest.mark.parametrize(
    ("linked", "message"),
    [
        ([("telegram", "7"), ("telegram", "7")], "The same identity stands here twice."),
        ([("whatsapp", "7"), ("whatsapp", "+7")], "The same identity stands here twice."),
        ([("slack", "1"), ("telegram", "1")], "telegram:1 is Ada already."),
        ([("tele gram", "1")], "A platform is 1 to 64 lower-case letters"),
        ([("telegram", "")], "This field is required."),
    ],
)
def test_what_cannot_be_is_refused_on_the_form(
    agent: Agent, operator: Client, linked: list[tuple[str, str]], message: str
) -> None:
    stored(operator, admin_page(Person, "add"), name="Ada", agent=agent.pk, **forms(("telegram", "1")))
    assert message in refused(
        operator, admin_page(Person, "add"), name="Bob", agent=agent.pk, **forms(*linked)
    )
    assert [person.name for person in Person.objects.all()] == ["Ada"]


def test_who_was_first_while_the_form_was_read_is_named_on_it(
    agent: Agent, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(operator, admin_page(Person, "add"), name="Ada", agent=agent.pk, **forms(("telegram", "1")))
    real, looked = people.taken, []

    def unseen_at_first(*asked: Any) -> Identity | None:
        looked.append(asked)
        return None if len(looked) == 1 else real(*asked)

    monkeypatch.setattr(people, "taken", unseen_at_first)
    said_so = refused(
        operator, admin_page(Person, "add"), name="Bob", agent=agent.pk, **forms(("telegram", "1"))
    )
    assert said_so == "telegram:1 is Ada already."
    assert [person.name for person in Person.objects.all()] == ["Ada"]


def test_a_removed_person_links_nobody(agent: Agent, operator: Client, resolve: Resolve) -> None:
    stored(operator, admin_page(Person, "add"), name="Ada", agent=agent.pk, **forms(("telegram", "42")))
    operator.post(admin_page(Person, "delete", Person.objects.get().pk), {"post": "yes"})
    assert not Identity.objects.exists()
    assert resolve()["session"]["key"] == "agent:main:telegram:dm:42"


def test_a_policy_decides_at_once(agent: Agent, operator: Client, resolve: Resolve) -> None:
    session = resolve()["session"]
    assert session["next_reset_at"] == "2026-05-02T04:00:00+00:00"
    stored(operator, admin_page(ResetPolicy, "add"), agent=agent.pk, platform="Telegram", **POLICY)
    agent.refresh_from_db()
    assert orjson.loads(agent.reset_policies) == [["telegram", "", "idle", 60, 4, ""]]
    assert agent.reset_recheck_after == 0
    assert resolve()["session"]["next_reset_at"] == "2026-05-01T13:00:00+00:00"
    change = admin_page(ResetPolicy, "change", ResetPolicy.objects.get().pk)
    stored(operator, change, **POLICY | {"idle_minutes": "30", "timezone": "Europe/Berlin"})
    assert resolve()["session"]["next_reset_at"] == "2026-05-01T12:30:00+00:00"


@pytest.mark.parametrize("bulk", [False, True])
def test_a_removed_policy_decides_nothing(
    agent: Agent, operator: Client, resolve: Resolve, bulk: bool
) -> None:
    stored(operator, admin_page(ResetPolicy, "add"), agent=agent.pk, **POLICY)
    pk = ResetPolicy.objects.get().pk
    if bulk:
        chosen = {"action": "delete_selected", "_selected_action": [pk], "post": "yes"}
        operator.post(admin_page(ResetPolicy), chosen)
    else:
        operator.post(admin_page(ResetPolicy, "delete", pk), {"post": "yes"})
    assert not ResetPolicy.objects.exists()
    agent.refresh_from_db()
    assert agent.reset_policies == "[]"
    assert resolve()["session"]["next_reset_at"] == "2026-05-02T04:00:00+00:00"


@pytest.mark.parametrize(
    ("field", "value"),
    [("platform", "tele gram"), ("timezone", "Mars"), ("chat_type", "room"), ("idle_minutes", "0"),
     ("at_hour", "24"), ("mode", "weekly")],
)  # fmt: skip
def test_a_wrong_field_is_refused(agent: Agent, operator: Client, field: str, value: str) -> None:
    assert refused(operator, admin_page(ResetPolicy, "add"), **{**POLICY, "agent": agent.pk, field: value})
    assert not ResetPolicy.objects.exists()


def test_one_too_many_is_told(agent: Agent, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "MOST", 0)
    answer = stored(operator, admin_page(ResetPolicy, "add"), agent=agent.pk, **POLICY)
    assert (answer.status_code, answer.url) == (302, admin_page(ResetPolicy, "add"))
    assert told(answer) == ["An agent has at most 0 reset policies."]


def test_an_agents_time_zone_moves_its_resets(agent: Agent, operator: Client, resolve: Resolve) -> None:
    fields = {**AGENT, "timezone": "Europe/Berlin"}
    stored(operator, admin_page(Agent, "change", agent.pk), name="renamed", **fields)
    agent.refresh_from_db()
    assert (agent.name, agent.token_budget, agent.consolidate_after_minutes) == ("main", 5, 7)
    assert agent.reset_recheck_after == 0
    assert resolve()["session"]["next_reset_at"] == "2026-05-02T02:00:00+00:00"


def test_an_agent_is_added(operator: Client) -> None:
    fields = {**AGENT, "timezone": "UTC"}
    stored(operator, admin_page(Agent, "add"), name="travel", **fields)
    assert Agent.objects.get().name == "travel"
    assert "already exists" in refused(operator, admin_page(Agent, "add"), name="travel", **fields)
    assert "Letters, digits" in refused(operator, admin_page(Agent, "add"), name="a b", **fields)


@pytest.mark.parametrize("bulk", [False, True])
def test_a_lease_that_an_operator_removes_blocks_nothing(
    api: Api, operator: Client, resolve: Resolve, bulk: bool
) -> None:
    session = resolve()["session"]["id"]
    for name in ("build", "index"):
        api.send("PUT", f"/sessions/{session}/leases/{name}", {"ttl_seconds": 86_400})
    assert resolve()["session"]["reset_blocked_by"] == ["build", "index"]
    gone = Lease.objects.get(name="build")
    if bulk:
        operator.post(admin_page(Lease), {"action": "end", "_selected_action": [gone.pk]})
        assert LogEntry.objects.get().change_message == "Ended the lease “build”."
    else:
        operator.post(admin_page(Lease, "delete", gone.pk), {"post": "yes"})
    assert resolve()["session"]["reset_blocked_by"] == ["index"]
    operator.post(admin_page(Lease, "delete", Lease.objects.get().pk), {"post": "yes"})
    assert Session.objects.get().leased_until is None


def delivery(agent: Agent, state: str) -> Delivery:
    waits = {"next_attempt_at": NOON} if state in ("queued", "retrying") else {}
    done = {"delivered_at": NOON} if state == "delivered" else {}
    return Delivery.objects.create(
        agent=agent, target="local", platform="local", content="x", state=state, attempts=3, **waits, **done
    )


def test_dead_deliveries_are_sent_again(clock: Clock, agent: Agent, operator: Client) -> None:
    rows = [delivery(agent, state) for state in ("dead", "delivered", "retrying")]
    answer = act(operator, "send_again", *rows)
    found = Delivery.objects.order_by("pk").values_list("state", "attempts", "next_attempt_at")
    assert list(found) == [("queued", 0, NOON), ("delivered", 3, None), ("retrying", 3, NOON)]
    assert told(answer) == ["1 are queued again; only dead ones are."]


def test_deliveries_that_wait_can_be_given_up(clock: Clock, agent: Agent, operator: Client) -> None:
    rows = [delivery(agent, state) for state in ("queued", "delivered")]
    act(operator, "give_up", *rows)
    assert list(Delivery.objects.order_by("pk").values_list("state", flat=True)) == ["dead", "delivered"]


@pytest.mark.parametrize(("right", "state"), [("view_delivery", "dead"), ("change_delivery", "queued")])
def test_only_who_may_change_deliveries_sends_them_again(
    clock: Clock, agent: Agent, staff: Callable[..., Client], right: str, state: str
) -> None:
    act(staff(right), "send_again", delivery(agent, "dead"))
    assert Delivery.objects.get().state == state
