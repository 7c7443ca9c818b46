"""Statements of our own on PostgreSQL, past the driver's cursors.

A cursor parses the statement, looks for it among the prepared ones and waits for the answer in steps that all
are Python; for a look-up by key that is more work than the look-up. Here the same driver's inner layers are
called: its C code writes the parameters, libpq asks and waits without the interpreter's lock, and the C code
reads the rows.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg import pq
from psycopg.adapt import PyFormat, Transformer

# For each connection the names of what it has prepared, by statement and types of the parameters: a small
# number and a large one have different types.
_Known = dict[tuple[str, tuple[int, ...]], bytes]
_known: "WeakKeyDictionary[psycopg.Connection[Any], _Known]" = WeakKeyDictionary()
_numbers = count(1)


def rows(connection: "psycopg.Connection[Any]", statement: str, parameters: Sequence[Any]) -> list[Any]:
    values = Transformer(connection)
    written = values.dump_sequence(parameters, [PyFormat.AUTO] * len(parameters))
    known = _known.get(connection)
    if known is None:
        known = _known[connection] = {}
    key = (statement, values.types or ())
    _begin(connection)
    try:
        name = known.get(key) or _prepare(connection, known, key)
        # None is a parameter too; the driver's types forget it here.
        asked: Any = written
        result = connection.pgconn.exec_prepared(name, asked, values.formats, pq.Format.BINARY)
        return _read(connection, result)
    except psycopg.Error:
        # A plan that a migration made invalid must not fail for ever.
        known.pop(key, None)
        raise


def forget(connection: "psycopg.Connection[Any]") -> None:
    """After a change of types: what was prepared before knows them by numbers that are gone."""
    _known.pop(connection, None)


def _begin(connection: "psycopg.Connection[Any]") -> None:
    """A transaction that is due begins with its first statement: elsewhere a cursor sees to it."""
    if not connection.autocommit and connection.pgconn.transaction_status == pq.TransactionStatus.IDLE:
        _checked(connection.pgconn.exec_(b"BEGIN"))


def _prepare(connection: "psycopg.Connection[Any]", known: _Known, key: tuple[str, tuple[int, ...]]) -> bytes:
    name = b"daybook_%d" % next(_numbers)
    _checked(connection.pgconn.prepare(name, _numbered(key[0]), key[1]))
    known[key] = name
    return name


def _read(connection: "psycopg.Connection[Any]", result: pq.abc.PGresult) -> list[Any]:
    reader = Transformer(connection)
    reader.set_pgresult(_checked(result))
    return list(reader.load_rows(0, result.ntuples, tuple))


def _checked(result: pq.abc.PGresult) -> pq.abc.PGresult:
    if result.status not in _GOOD:
        raise psycopg.errors.error_from_result(result)
    return result


_GOOD = frozenset({pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK})


@lru_cache(maxsize=64)
def _numbered(statement: str) -> bytes:
    """With `$1`, `$2` … for each `%s`, as the server counts them."""
    first, *rest = statement.split("%s")
    return (first + "".join(f"${place}{part}" for place, part in enumerate(rest, 1))).encode()
