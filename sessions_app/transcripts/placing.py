"""The session that an imported one becomes: found again, or made in its place among those of its key."""

from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db.models import F, Q

from sessions_app.access import Caller
from sessions_app.entries import METADATA_BYTES
from sessions_app.models import KEY_LENGTH, ImportedSession, Session
from sessions_app.sessions import of
from sessions_app.transcripts.records import Head
from sessions_app.transcripts.times import moment
from sessions_app.transcripts.wiring import key_of_source

IMPORTED = "imported"
# Nothing came since it was imported: no message, and no resolve that counts as activity.
UNTOUCHED = Q(imported_through=F("last_seq")) & (Q(active_at__isnull=True) | Q(active_at__lte=F("last_at")))
# An imported session is looked at by the sweep so often, in case that somebody has gone on with it.
LOOK_AGAIN = timedelta(days=1)


def place(
    caller: Caller, form: str, head: Head, first_at: datetime | None, now: datetime
) -> tuple[ImportedSession, Session, bool]:
    """Runs inside `commit`. The session locked, and whether it was just made."""
    found = (
        ImportedSession.objects.select_for_update(no_key=True)
        .filter(agent_id=caller.agent_id, format=form, ref=head.ref[:KEY_LENGTH])
        .first()
    )
    if found is not None:
        session = Session.objects.select_for_update(no_key=True).get(pk=found.session_id)
        _learn(caller, found, session, head)
        return found, session, False
    session = _new(caller, head, first_at, now)
    _settle(caller, session)
    imported = ImportedSession.objects.create(
        agent_id=caller.agent_id,
        session=session,
        format=form,
        ref=head.ref[:KEY_LENGTH],
        previous_ref=head.previous_ref[:KEY_LENGTH],
        fork_ref=head.fork_ref[:KEY_LENGTH],
        head=orjson.dumps(head.raw).decode(),
    )
    relate(imported, session)
    return imported, session, True


def _new(caller: Caller, head: Head, first_at: datetime | None, now: datetime) -> Session:
    """Its time is when it began, not when it was imported."""
    created_at = moment(head.created_at, caller.zone) or first_at or now
    created_at = min(created_at, first_at or created_at, now)
    updated_at = moment(head.updated_at, caller.zone) or created_at
    key, source = _key(caller, head)
    place_of = source or {}
    return Session(
        agent_id=caller.agent_id,
        key=key[:KEY_LENGTH],
        title=head.title[:512],
        platform=place_of.get("platform", ""),
        chat_type=place_of.get("chat_type", ""),
        source=source,
        metadata=_fitting(head.metadata),
        created_at=created_at,
        updated_at=max(created_at, min(updated_at, now)),
        summary=head.summary,
        imported_through=0,
        reset_check_at=now + LOOK_AGAIN,
    )


def _key(caller: Caller, head: Head) -> tuple[str, dict[str, Any] | None]:
    found = key_of_source(caller, head.source) if head.source else None
    return found or (head.key or head.ref, None)


def _fitting(metadata: dict[str, Any]) -> dict[str, Any]:
    """Within the limit of the API, so that it can be changed there; the whole is kept beside it."""
    kept: dict[str, Any] = {}
    room = METADATA_BYTES - 1024
    for name, value in metadata.items():
        room -= len(orjson.dumps({name: value}))
        if room < 0:
            break
        kept[name] = value
    return kept


def _learn(caller: Caller, imported: ImportedSession, session: Session, head: Head) -> None:
    """Another file may tell more of a session: what is missing is filled in, nothing is overwritten."""
    session.title = session.title or head.title[:512]
    session.summary = session.summary or head.summary
    if head.metadata:
        session.metadata = _fitting({**head.metadata, **session.metadata})
    if head.raw:
        known = orjson.loads(imported.head)
        if head.raw.keys() - known.keys():
            imported.head = orjson.dumps({**head.raw, **known}).decode()
            imported.save(update_fields=["head"])


def _settle(caller: Caller, session: Session) -> None:
    """The newest of a key is open, in whatever order they come; one that is in use stays what it is."""
    current = of(caller).select_for_update(no_key=True).filter(key=session.key, ended_at__isnull=True).first()
    if current is not None:
        is_older = (current.created_at, current.pk) < (session.created_at, current.pk + 1)
        if is_older and of(caller).filter(UNTOUCHED, pk=current.pk).exists():
            _end(current)
            current.save(update_fields=["ended_at", "end_reason", "reset_check_at"])
        else:
            _end(session)
    before = _imported_of(caller, session.key).filter(created_at__lte=session.created_at)
    previous = before.order_by("-created_at", "-pk").first()
    session.previous_id = None if previous is None else previous.uid
    session.save(force_insert=True)
    after = _imported_of(caller, session.key).filter(created_at__gt=session.created_at)
    if (following := after.order_by("created_at", "pk").first()) is not None:
        Session.objects.filter(pk=following.pk).update(previous=session.uid)


def _imported_of(caller: Caller, key: str) -> Any:
    return of(caller).filter(key=key, imported_through__isnull=False)


def _end(session: Session) -> None:
    session.ended_at, session.end_reason = max(session.updated_at, session.created_at), IMPORTED
    session.reset_check_at = None


def relate(imported: ImportedSession, session: Session) -> None:
    """To the sessions that the format names, whichever of them comes first."""
    of_format = ImportedSession.objects.filter(agent_id=imported.agent_id, format=imported.format)
    for name, column in (("previous_ref", "previous_id"), ("fork_ref", "forked_from_id")):
        if ref := getattr(imported, name):
            uid = of_format.filter(ref=ref).values_list("session__uid", flat=True).first()
            if uid is not None and uid != session.uid:
                setattr(session, column, uid)
        children = of_format.filter(**{name: imported.ref}).exclude(pk=imported.pk).values("session_id")
        Session.objects.filter(pk__in=children).update(**{column: session.uid})
