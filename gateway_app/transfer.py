"""What the gateway gives to imports, archives and erasure."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models.signals import pre_delete

from gateway_app import policies
from gateway_app.models import Delivery, Identity, Person, Platform, ResetPolicy
from gateway_app.personal_data import forget_deliveries
from gateway_app.platforms import key_of
from gateway_app.sources import BadSource, Source
from gateway_app.traces import forget_log
from sessions_app import erasure
from sessions_app.access import Caller
from sessions_app.models import Reflection, Session
from sessions_app.problems import Invalid
from sessions_app.transcripts import archive, wiring


def register() -> None:
    wiring.register_key_of_source(key_of_source)
    archive.register("platform", archive.Part(dump_agent=_platforms, load=_load_platform))
    archive.register("reset_policy", archive.Part(dump_agent=_policies, load=_load_policy))
    archive.register("person", archive.Part(dump_agent=_people, load=_load_person))
    erasure.register("deliveries", sessions=_forget_deliveries)
    erasure.register("operators' log", sessions=partial(forget_log, Session))
    pre_delete.connect(_forget_sent_report, sender=Reflection)


def _forget_deliveries(pks: Sequence[int]) -> None:
    forget_deliveries(Delivery.objects.filter(session_id__in=pks))


def _forget_sent_report(instance: Reflection, **_: Any) -> None:
    """A report that goes takes along what was sent of it."""
    if instance.delivery is not None:
        forget_deliveries(Delivery.objects.filter(uid=instance.delivery, agent_id=instance.agent_id))


def key_of_source(caller: Caller, given: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The key that a resolve of this source would use; None for what can be no source here."""
    try:
        source = Source.from_json(given)
        return key_of(caller, source), source.as_json()
    except (BadSource, Invalid):
        return None


PLATFORM = (
    "platform", "enabled", "home_chat_id", "home_name", "home_thread_id", "webhook_url", "webhook_secret",
    "dm_scope", "group_scope",
)  # fmt: skip
POLICY = ("platform", "chat_type", "mode", "idle_minutes", "at_hour", "timezone")


def _platforms(caller: Caller) -> Iterator[dict[str, Any]]:
    yield from Platform.objects.filter(agent_id=caller.agent_id).order_by("pk").values(*PLATFORM)


def _load_platform(caller: Caller, given: dict[str, Any], session: Session | None, now: datetime) -> None:
    """What an agent has set already stays."""
    values = {name: given[name] for name in PLATFORM} | {"created_at": now, "updated_at": now}
    Platform.objects.get_or_create(values, agent_id=caller.agent_id, platform=values.pop("platform"))


def _policies(caller: Caller) -> Iterator[dict[str, Any]]:
    yield from ResetPolicy.objects.filter(agent_id=caller.agent_id).order_by("pk").values(*POLICY)


def _load_policy(caller: Caller, given: dict[str, Any], session: Session | None, now: datetime) -> None:
    place = {name: given[name] for name in ("platform", "chat_type")}
    if not ResetPolicy.objects.filter(agent_id=caller.agent_id, **place).exists():
        policies.put(caller, {name: given[name] for name in POLICY})


def _people(caller: Caller) -> Iterator[dict[str, Any]]:
    for person in (
        Person.objects.filter(agent_id=caller.agent_id).order_by("pk").prefetch_related("identities")
    ):
        known = sorted((found.platform, found.user_id) for found in person.identities.all())
        yield {"id": str(person.uid), "name": person.name, "identities": known}


def _load_person(caller: Caller, given: dict[str, Any], session: Session | None, now: datetime) -> None:
    """The id is part of the keys of their sessions; where another agent has it, a new one is made."""
    of_agent = Identity.objects.filter(agent_id=caller.agent_id)
    known = [
        pair
        for pair in given["identities"]
        if not of_agent.filter(platform=pair[0], user_id=pair[1]).exists()
    ]
    if not known:
        return
    uid = UUID(given["id"])
    taken = Person.objects.filter(uid=uid).exists()
    named = {"name": given["name"], "agent_id": caller.agent_id} | ({} if taken else {"uid": uid})
    person = Person.objects.create(**named)
    Identity.objects.bulk_create(
        Identity(agent_id=caller.agent_id, person=person, platform=platform, user_id=user_id)
        for platform, user_id in known
    )
