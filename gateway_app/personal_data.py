"""Everything about one person, as one agent has it: found, exported, erased.

A person is a user id on a platform, and with it every identity that an operator linked to it. Sessions that
are that person's alone (direct messages, and rooms kept apart by user) are theirs whole. In rooms that others
share, theirs are the messages that say so: by `user_id`, `sender_id` or `sender` in metadata, or `name`."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
from celery import current_app
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Q, QuerySet

from gateway_app.models import Delivery, Identity, Person, PersonErasure
from gateway_app.people import Known, known_as
from gateway_app.sources import BadSource, compared, escaped
from gateway_app.traces import forget_answers, forget_channels, forget_imports, forget_log
from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.erasure import ERASED, empty_messages, erase_sessions, note
from sessions_app.memory import unlearn
from sessions_app.models import ImportedSession, Message, Session
from sessions_app.objects import iso
from sessions_app.problems import NotFound, invalid
from sessions_app.sessions import UID
from sessions_app.storage.space import forget_log as forget_pages

TASK = "gateway_app.tasks.erase_person"
CHUNK = 200
NAMES = ("user_id", "sender_id", "from_id", "author_id")
NESTED = ("sender", "user", "author", "from")


@dataclass(frozen=True, slots=True)
class Subject:
    agent_id: int
    known: frozenset[Known]
    person_id: int | None = None

    @property
    def platforms(self) -> set[str]:
        return {platform for platform, _ in self.known}

    def is_named(self, platform: str, identifier: Any) -> bool:
        return identifier is not None and (platform, compared(platform, str(identifier))) in self.known


def subject_of(agent_id: int, platform: str, user_id: str) -> Subject:
    try:
        known = known_as(platform, user_id)
    except BadSource as error:
        raise invalid(["path", "user_id"], str(error)) from None
    of_agent = Identity.objects.filter(agent_id=agent_id)
    person = of_agent.filter(platform=known[0], user_id=known[1]).values_list("person_id", flat=True).first()
    linked = of_agent.filter(person_id=person).values_list("platform", "user_id") if person else []
    return Subject(agent_id, frozenset({known, *linked}), person)


def sessions_about(subject: Subject) -> Iterator[tuple[Session, bool]]:
    """Each session that may hold something, and whether it is the person's alone. A few at a time."""
    wanted = Q(platform__in=subject.platforms)
    if subject.person_id is not None:
        uid = Person.objects.values_list("uid", flat=True).get(pk=subject.person_id)
        wanted |= Q(key__contains=f":@{uid}:")
    for platform, _ in subject.known:
        # Keys that clients and other programs make themselves: the platform, and the chat.
        wanted |= Q(platform="", key__startswith=f"{platform}:")
    found = Session.objects.filter(wanted, agent_id=subject.agent_id).order_by("pk")
    after = 0
    while rows := list(found.filter(pk__gt=after)[:CHUNK]):
        after = rows[-1].pk
        for session in rows:
            if session.platform or _is_by_key(subject, session):
                yield session, _is_alone(subject, session)


def _is_by_key(subject: Subject, session: Session) -> bool:
    platform, _, chat = session.key.partition(":")
    return subject.is_named(platform, chat)


def _is_alone(subject: Subject, session: Session) -> bool:
    if not session.platform:
        return _is_by_key(subject, session)
    source = session.source or {}
    if not subject.is_named(session.platform, source.get("user_id")):
        # A direct chat may be known by its chat alone.
        return session.chat_type == "dm" and subject.is_named(session.platform, source.get("chat_id"))
    own = f":u={escaped(compared(session.platform, source.get('user_id')))}"
    return session.chat_type == "dm" or session.key.endswith(own)


def messages_by(subject: Subject, session: Session) -> Iterator[Message]:
    """In a shared room: the messages that say that they are the person's."""
    names = {str((session.source or {}).get("user_name") or "")} if _spoke_last(subject, session) else set()
    names |= {user_id for _, user_id in subject.known}
    names.discard("")
    found = Message.objects.filter(session_id=session.pk, role="user").exclude(hidden_by=ERASED)
    after = 0
    while rows := list(found.filter(seq__gt=after).order_by("seq")[:CHUNK]):
        after = rows[-1].seq
        for row in rows:
            if _is_by(subject, session.platform, row, names):
                yield row


def _spoke_last(subject: Subject, session: Session) -> bool:
    return subject.is_named(session.platform, (session.source or {}).get("user_id"))


def _is_by(subject: Subject, platform: str, row: Message, names: set[str]) -> bool:
    extra = orjson.loads(row.extra) if row.extra else {}
    metadata = extra.get("metadata") or {}
    said = [metadata.get(name) for name in NAMES]
    for name in NESTED:
        nested = metadata.get(name)
        said.append(nested.get("id") if isinstance(nested, dict) else nested)
    if any(subject.is_named(platform, one) for one in said if isinstance(one, str | int)):
        return True
    return orjson.loads(row.body).get("name") in names


def deliveries_to(subject: Subject, sessions: QuerySet[Session] | list[int]) -> QuerySet[Delivery]:
    of_agent = Delivery.objects.filter(agent_id=subject.agent_id)
    chats = of_agent.filter(platform__in=subject.platforms).values_list("platform", "chat_id").distinct()
    wanted = Q(session_id__in=sessions)
    for platform, chat_id in chats:
        # The same account may be written in several ways.
        if subject.is_named(platform, chat_id):
            wanted |= Q(platform=platform, chat_id=chat_id)
    return of_agent.filter(wanted)


def ask(caller: Caller, platform: str, user_id: str, now: datetime) -> PersonErasure:
    """A row first: the work is done by a task, however much it is."""
    subject_of(caller.agent_id, platform, user_id)
    known = known_as(platform, user_id)

    def work() -> PersonErasure:
        row = PersonErasure.objects.create(
            agent_id=caller.agent_id, platform=known[0], user_id=known[1], created_at=now
        )
        transaction.on_commit(lambda: send(row.uid))
        return row

    return commit(work)


def send(uid: UUID) -> None:
    current_app.send_task(TASK, [str(uid)], retry=False)


def run(uid: UUID, now: datetime) -> bool:
    """Idempotent: whatever is found goes; a task that died is done again from the start."""
    row = PersonErasure.objects.filter(uid=uid, finished_at__isnull=True).first()
    if row is None:
        return False
    subject = subject_of(row.agent_id, row.platform, row.user_id)
    for session, alone in sessions_about(subject):
        sessions, messages = commit(partial(_erase, subject, session, now, alone=alone))
        row.sessions += sessions
        row.messages += messages
    commit(lambda: _finish(row, subject, now))
    forget_pages()
    return True


def _erase(subject: Subject, session: Session, now: datetime, *, alone: bool) -> tuple[int, int]:
    """Runs inside `commit`."""
    found = Session.objects.select_for_update().filter(pk=session.pk).first()
    if found is None:
        return 0, 0
    if alone:
        unlearn(found, now)
        return erase_sessions([found.pk])
    pks = [message.pk for message in messages_by(subject, found)]
    if pks:
        unlearn(found, now)
    emptied = empty_messages(found, pks) if pks else 0
    if _spoke_last(subject, found):
        _leave_room(subject, found)
    return 0, emptied


def _leave_room(subject: Subject, session: Session) -> None:
    """The room's session was begun by them, or they spoke last in it: here and where it was imported from."""
    source = session.source or {}
    names = {str(source.get("user_name") or ""), str(source.get("user_id") or "")} - {""}
    session.source = {**source, "user_id": None, "user_name": None}
    session.metadata = _without(session.metadata, names | {user_id for _, user_id in subject.known})
    session.title = "" if session.title in names else session.title
    session.save(update_fields=["source", "metadata", "title"])
    ImportedSession.objects.filter(session=session).update(head="{}")
    forget_log(Session, [session.pk])


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: _without(item, names) for name, item in value.items() if name not in names}
    if isinstance(value, list):
        return [_without(item, names) for item in value]
    return None if str(value) in names else value


def _finish(row: PersonErasure, subject: Subject, now: datetime) -> None:
    """Runs inside `commit`. The person themselves, what waits for them, and who asked for it."""
    forget_deliveries(deliveries_to(subject, []))
    forget_answers(row.agent_id, [user_id for _, user_id in subject.known])
    forget_channels(row.agent_id, sorted(subject.known), subject.is_named)
    forget_imports(row.agent_id, subject.is_named, sorted(subject.platforms))
    if subject.person_id is not None:
        kind = ContentType.objects.get_for_model(Person)
        LogEntry.objects.filter(content_type=kind, object_id=str(subject.person_id)).delete()
        linked = Identity.objects.filter(person_id=subject.person_id).values_list("pk", flat=True)
        forget_log(Identity, list(linked))
        Person.objects.filter(pk=subject.person_id).delete()
    note(row.agent_id, "person", now, sessions=row.sessions, messages=row.messages)
    PersonErasure.objects.filter(pk=row.pk).update(
        platform="", user_id="", sessions=row.sessions, messages=row.messages, finished_at=now
    )


def forget_deliveries(found: QuerySet[Delivery]) -> None:
    """Runs inside `commit`. Rows, and the files of those that were written to this machine."""
    folder = Path(settings.DATA_DIR) / "deliveries"
    for uid, agent_id in found.values_list("uid", "agent_id"):
        for path in (folder / str(agent_id)).glob(f"*/*{uid}*"):
            path.unlink(missing_ok=True)
    forget_log(Delivery, list(found.values_list("pk", flat=True)))
    found.delete()


def resume(now: datetime) -> int:
    waiting = PersonErasure.objects.filter(finished_at__isnull=True).order_by("created_at")
    uids = list(waiting.values_list("uid", flat=True)[:CHUNK])
    for uid in uids:
        send(uid)
    return len(uids)


def one(caller: Caller, text: str) -> dict[str, Any]:
    found = PersonErasure.objects.filter(agent_id=caller.agent_id)
    row = found.filter(uid=UUID(text)).first() if UID.match(text) else None
    if row is None:
        raise NotFound("There is no such erasure.")
    return shown(row)


def shown(row: PersonErasure) -> dict[str, Any]:
    return {
        "id": str(row.uid),
        "state": "queued" if row.finished_at is None else "done",
        "sessions": row.sessions,
        "messages": row.messages,
        "created_at": iso(row.created_at),
        "finished_at": iso(row.finished_at),
    }
