"""Who watches the statements of a connection (tests, debug pages) sees those past Django's cursor too."""

from collections.abc import Sequence
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper


def is_watched(database: BaseDatabaseWrapper) -> bool:
    return bool(database.queries_logged or database.execute_wrappers)


def watched_rows(database: BaseDatabaseWrapper, statement: str, parameters: Sequence[Any]) -> list[Any]:
    with database.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())
