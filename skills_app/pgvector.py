"""pgvector, where the PostgreSQL server has it: a column beside the vectors, searched by the database itself.

It is looked for after each migration and never required: without the right to create the extension, or
without the extension, searches run in the process (`nearest.py`) and find the same.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import structlog
from django.db import DatabaseError, connection, transaction

from sessions_app.embedding import Vectors, unpacked
from sessions_app.storage import prepared
from skills_app.statements import rows

log = structlog.get_logger(__name__)

TABLE = "skills_app_queryvector"
HAS_COLUMN = """SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = 'meaning'
AND NOT attisdropped"""
HAS_TYPE = "SELECT count(*) FROM pg_type WHERE typname = 'vector' AND typcategory = 'U'"

_known: dict[str, bool] = {}


def is_there() -> bool:
    """Asked once for each database of a process."""
    if connection.vendor != "postgresql":
        return False
    name = str(connection.settings_dict["NAME"])
    if name not in _known:
        _known[name] = _asked(HAS_COLUMN, [TABLE])
    return _known[name]


def look_again() -> None:
    _known.clear()
    if connection.vendor == "postgresql" and connection.connection is not None:
        # Statements from before know the type by another number, or not at all.
        prepared.forget(connection.connection)


def prepare() -> bool:
    """Add the column where it can be; what is stored is then made anew for it by the task."""
    look_again()
    if connection.vendor != "postgresql" or is_there() or TABLE not in connection.introspection.table_names():
        return is_there()
    look_again()
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except DatabaseError as error:
        log.info("no pgvector: skills are searched in the process", reason=str(error).strip())
    if not _asked(HAS_TYPE, []):
        return False
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {TABLE} ADD COLUMN IF NOT EXISTS meaning vector")
        # The numbers lie beside once more, out of the way of a scan.
        cursor.execute(f"ALTER TABLE {TABLE} ALTER COLUMN meaning SET STORAGE MAIN")
        cursor.execute(f"ALTER TABLE {TABLE} ALTER COLUMN vector SET STORAGE EXTERNAL")
        cursor.execute(f"UPDATE {TABLE} SET model = ' waiting'")  # noqa: S608 - a name of our own
    return is_there()


def _asked(statement: str, parameters: Sequence[Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return bool(cursor.fetchone()[0])


def text_of(numbers: bytes) -> str:
    return _text(unpacked([numbers], len(numbers) // 4)[0])


def _text(vector: Vectors) -> str:
    return "[" + ",".join(map(repr, vector.astype(np.float64).tolist())) + "]"


LIKENESS = "round(-(meaning <#> %s::vector) * 1e5)"
WHERE = "agent_id = %s AND model = %s AND (%s::bigint IS NULL OR session_pk = %s)"
BEST = f"""SELECT skill_name, max({LIKENESS}) FROM {TABLE} WHERE {WHERE} GROUP BY skill_name"""  # noqa: S608 - names of our own
CLOSEST = f"""SELECT invocation_id, {LIKENESS} AS likeness FROM {TABLE} WHERE {WHERE}
AND skill_name = %s ORDER BY likeness DESC, invocation_id DESC LIMIT %s"""  # noqa: S608 - names of our own


class Found:
    """One question to the database: the same answers as `nearest.Found`."""

    def __init__(self, agent_id: int, model: str, query: Vectors, session_pk: int | None) -> None:
        self._query = _text(query)
        self._where = (agent_id, model, session_pk, session_pk)

    def best_by_skill(self) -> dict[str, float]:
        return {skill: likeness / 1e5 for skill, likeness in rows(BEST, [self._query, *self._where])}

    def closest(self, skill: str, limit: int) -> list[tuple[int, float]]:
        found = rows(CLOSEST, [self._query, *self._where, skill, limit])
        return [(pk, likeness / 1e5) for pk, likeness in found]

    def forget(self, gone: Sequence[int]) -> None:
        """Nothing to do: the next question sees what is there then."""
