"""Sessions and their messages out of the record, a few at a time: for whatever writes them somewhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import orjson
from django.db.models import QuerySet

from sessions_app.access import Caller
from sessions_app.models import ImportedSession, Message, Session
from sessions_app.objects import utc
from sessions_app.redaction import Redactor
from sessions_app.sessions import of

CHUNK = 500
COLUMNS = ("seq", "kind", "role", "body", "extra", "created_at", "hidden_by")


@dataclass(frozen=True, slots=True)
class Transcript:
    """A session as it was when its export began: what comes later is not in it."""

    session: Session
    zone: ZoneInfo
    # What the format that it was imported from says of it, by format.
    heads: dict[str, dict[str, Any]]
    redactor: Redactor | None = None
    include_hidden: bool = False

    def messages(self, *, only: str | None = "message") -> Iterator[dict[str, Any]]:
        """With their fields as they are stored, `created_at` as a time."""
        for row in rows_of(self.session, include_hidden=self.include_hidden, only=only):
            fields = orjson.loads(row["body"]) | (orjson.loads(row["extra"]) if row["extra"] else {})
            if self.redactor is not None:
                fields = self.redactor.value(fields)
            place = {"seq": row["seq"], "kind": row["kind"], "hidden_by": row["hidden_by"]}
            yield {**fields, **place, "created_at": utc(row["created_at"])}

    def shown(self, value: Any) -> Any:
        return value if self.redactor is None else self.redactor.value(value)


def rows_of(session: Session, *, include_hidden: bool, only: str | None) -> Iterator[dict[str, Any]]:
    found = Message.objects.filter(session_id=session.pk, seq__lte=session.last_seq).order_by("seq")
    if only is not None:
        found = found.filter(kind=only)
    if not include_hidden:
        found = found.filter(hidden_by="")
    after = 0
    while rows := list(found.filter(seq__gt=after).values(*COLUMNS)[:CHUNK]):
        yield from rows
        after = rows[-1]["seq"]


def transcript(
    caller: Caller, session: Session, *, redactor: Redactor | None, include_hidden: bool
) -> Transcript:
    imported = ImportedSession.objects.filter(session_id=session.pk).values_list("format", "head")
    heads = {form: orjson.loads(head) for form, head in imported}
    return Transcript(session, caller.zone, heads, redactor, include_hidden)


def sessions_of(
    caller: Caller,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    platform: str | None = None,
) -> Iterator[Session]:
    """Those with something in the period, in the order in which they were stored."""
    found = of(caller)
    if since is not None:
        found = found.filter(updated_at__gte=since)
    if until is not None:
        found = found.filter(created_at__lt=until)
    if platform is not None:
        found = found.filter(platform=platform)
    yield from _in_chunks(found)


def _in_chunks(found: QuerySet[Session]) -> Iterator[Session]:
    after = 0
    while rows := list(found.filter(pk__gt=after).order_by("pk")[:100]):
        yield from rows
        after = rows[-1].pk
