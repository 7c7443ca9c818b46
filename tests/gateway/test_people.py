"""People whom an operator linked: their DMs share a session, and no id belongs to two of them."""

import threading
from typing import Any

import pytest
from django.db import IntegrityError, connections

from gateway_app import people
from gateway_app.models import Identity, Person
from gateway_app.sources import BadSource
from sessions_app.models import Agent
from tests.conftest import Api

from .conftest import Resolve


def person(agent: Agent, name: str, *identities: people.Known) -> Person:
    made = Person.objects.create(agent=agent, name=name)
    people.link(made, identities)
    return made


def identities(of: Person) -> list[str]:
    return sorted(map(str, of.identities.all()))


def dm(platform: str, user_id: str, **fields: Any) -> dict[str, Any]:
    return {"platform": platform, "user_id": user_id, "chat_id": f"chat of {user_id}", **fields}


def test_the_dms_of_one_person_share_a_session(agent: Agent, resolve: Resolve) -> None:
    ada = person(agent, "Ada", ("telegram", "123"), ("discord", "456"))
    key = f"agent:main:@{ada.uid}:dm"
    first, second = resolve(**dm("telegram", "123")), resolve(200, **dm("discord", "456"))
    assert (first["session"]["key"], second["session"]["key"]) == (key, key)
    assert first["session"]["id"] == second["session"]["id"]
    assert second["session"]["platform"] == "discord"


def test_what_is_not_a_dm_of_theirs_is_nobodys(agent: Agent, resolve: Resolve) -> None:
    person(agent, "Ada", ("telegram", "123"))
    others = [
        (dm("telegram", "124"), "agent:main:telegram:dm:chat of 124"),
        (dm("discord", "123"), "agent:main:discord:dm:chat of 123"),
        (dm("telegram", "123", chat_type="group"), "agent:main:telegram:group:chat of 123"),
    ]
    assert [resolve(**source)["session"]["key"] for source, _ in others] == [key for _, key in others]


def test_a_dm_that_names_no_user_is_known_by_its_chat(agent: Agent, resolve: Resolve) -> None:
    ada = person(agent, "Ada", ("telegram", "123"))
    unnamed = {"platform": "telegram", "chat_id": 123, "user_id": None}
    assert resolve(**unnamed)["session"]["key"] == f"agent:main:@{ada.uid}:dm"
    others = [{**unnamed, "user_id": "9"}, {**unnamed, "chat_type": "group"}, {**unnamed, "chat_id": 124}]
    keys = [resolve(**source)["session"]["key"] for source in others]
    assert keys == [f"agent:main:telegram:{place}" for place in ("dm:123", "group:123", "dm:124")]


def test_a_whatsapp_id_is_linked_however_it_is_written(agent: Agent, resolve: Resolve) -> None:
    known = people.known_as("WhatsApp ", " +49170:2@s.whatsapp.net")
    assert known == ("whatsapp", "49170")
    ada = person(agent, "Ada", known)
    for written in ("49170", "+49170", "49170:7@s.whatsapp.net", "49170.0:7@lid"):
        assert resolve(**dm("whatsapp", written))["session"]["key"] == f"agent:main:@{ada.uid}:dm"


def test_people_of_one_agent_are_nothing_to_another(agent: Agent, stranger: Api, resolve: Resolve) -> None:
    person(agent, "Ada", ("telegram", "123"))
    key = resolve(who=stranger, **dm("telegram", "123"))["session"]["key"]
    assert key == "agent:other:telegram:dm:chat of 123"
    person(Agent.objects.get(name="other"), "Ada there", ("telegram", "123"))


def test_linking_says_which_identities_there_are_in_all(agent: Agent, resolve: Resolve) -> None:
    ada = person(agent, "Ada", ("telegram", "1"), ("discord", "2"))
    kept = Identity.objects.get(platform="discord").pk
    people.link(ada, [("slack", "3"), ("discord", "2")])
    assert identities(ada) == ["discord:2", "slack:3"]
    assert Identity.objects.get(platform="discord").pk == kept
    assert resolve(**dm("telegram", "1"))["session"]["key"] == "agent:main:telegram:dm:chat of 1"
    people.link(ada, [])
    assert identities(ada) == []


def test_an_identity_is_one_persons(agent: Agent) -> None:
    ada, bob = person(agent, "Ada", ("telegram", "1")), person(agent, "Bob", ("slack", "5"))
    with pytest.raises(IntegrityError):
        people.link(bob, [("telegram", "1"), ("discord", "9")])
    assert (identities(ada), identities(bob)) == (["telegram:1"], ["slack:5"])


def test_whose_an_identity_is_can_be_asked(agent: Agent, stranger: Api) -> None:
    ada = person(agent, "Ada", ("telegram", "1"))
    wanted = [("slack", "2"), ("telegram", "1")]
    for asking in (None, ada.pk + 1):
        found = people.taken(agent.pk, asking, wanted)
        assert found is not None
        assert (str(found), found.person) == ("telegram:1", ada)
    assert people.taken(agent.pk, ada.pk, wanted) is None
    assert people.taken(agent.pk, None, [("telegram", "2")]) is None
    assert people.taken(agent.pk, None, []) is None
    assert people.taken(Agent.objects.get(name="other").pk, None, wanted) is None


@pytest.mark.parametrize(
    ("platform", "user_id"), [("", "1"), ("tele gram", "1"), ("x", ""), ("x", "  "), ("x", "1" * 513)]
)
def test_what_can_be_no_identity_is_refused(platform: str, user_id: str) -> None:
    with pytest.raises(BadSource):
        people.known_as(platform, user_id)


@pytest.mark.django_db(transaction=True)
def test_two_people_who_claim_the_same_identities_at_once_end_with_one_owner(agent: Agent) -> None:
    claims = [("a", "1"), ("b", "2"), ("c", "3")]
    pair = [person(agent, name) for name in ("Ada", "Bob")]
    start, outcomes = threading.Barrier(2), []

    def claim(who: Person, wanted: list[people.Known]) -> None:
        start.wait(10)
        try:
            people.link(who, wanted)
            outcomes.append("linked")
        except IntegrityError:
            outcomes.append("refused")
        finally:
            connections["default"].close()

    threads = [
        threading.Thread(target=claim, args=arguments)
        for arguments in zip(pair, (claims, claims[::-1]), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(outcomes) == ["linked", "refused"]
    assert sorted(len(identities(who)) for who in pair) == [0, 3]
