"""The statements that differ between SQLite and PostgreSQL: one small back end each, one interface."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from django.db import connection
from django.db.models import Q

from sessions_app.access import Proof
from sessions_app.entries import Entry
from sessions_app.storage import postgres, sqlite
from sessions_app.storage.statements import Reading, Stored

__all__ = ["Reading", "Storage", "Stored", "storage"]


class Storage(Protocol):
    def rows(self, statement: str, parameters: Sequence[Any]) -> list[Any]:
        """What a statement of our own finds: prepared once, and past Django's cursor, which costs as much."""

    def one_moment(self) -> AbstractContextManager[None]:
        """Whatever is read inside is of one moment, among any writers; none of them waits for it."""

    def versions(self, *tables: str) -> str:
        """An expression that changes with every change of the rows of these tables; empty where a look-up
        costs too little to be remembered."""

    def session(
        self, agent_id: int, uid: UUID, read: Reading, proof: Proof | None
    ) -> tuple[dict[str, Any], list[Stored]] | None:
        """The row of a session of that agent, with its summary, and its newest visible messages."""

    def append(
        self, agent_id: int, uid: UUID, entries: Sequence[Entry], now: datetime, proof: Proof | None
    ) -> dict[str, Any] | None:
        """Store the entries behind the last one of an open session; None where there is no such session."""

    def newest(self, session_pk: int, below: int, limit: int) -> list[Stored]:
        """Visible messages below a seq, newest first."""

    def size(self) -> int:
        """Bytes of the database on disk."""

    def containing(self, text: str, *fields: str) -> Q:
        """Whether one of the fields contains the text, in any case of any script."""


def storage() -> Storage:
    return sqlite.storage if connection.vendor == "sqlite" else postgres.storage
