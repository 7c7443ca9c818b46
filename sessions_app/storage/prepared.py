"""Statements of our own on PostgreSQL, past the driver's cursors.

A cursor parses the statement, looks for it among the prepared ones and waits for the answer in steps that all
are Python; for a look-up by key that is more work than the look-up. Here the same driver's inner layers are
called: its C code writes the parameters, libpq asks and waits without the interpreter's lock, and the C code
reads the rows.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import psycopg
from psycopg import pq
from psycopg.adapt import PyFormat, Transformer

# For each connection the names of what it has prepared, by statement and types of the parameters: a small
# number and a large one have different types.
_Known = dict[tuple[str, tuple[int, ...]], bytes]
_known: "WeakKeyDictionary[psycopg.Connection[Any], _Known]" = WeakKeyDictionary()
_numbers = count(1)


class Statement(NamedTuple):
    """A statement with its parameters as they go over the wire."""

    text: str
    values: Sequence[Any]
    types: tuple[int, ...]
    formats: Any


def rows(connection: "psycopg.Connection[Any]", statement: str, parameters: Sequence[Any]) -> list[Any]:
    return loaded(answer(connection, written(statement, parameters)))


def written(text: str, parameters: Sequence[Any]) -> Statement:
    values = Transformer()
    dumped = values.dump_sequence(parameters, [PyFormat.AUTO] * len(parameters))
    return Statement(text, dumped, values.types or (), values.formats)


def answer(connection: "psycopg.Connection[Any]", statement: Statement) -> pq.abc.PGresult:
    _begin(connection)
    try:
        name = name_of(connection, statement)
        # None is a parameter too; the driver's types forget it here.
        asked: Any = statement.values
        result = connection.pgconn.exec_prepared(name, asked, statement.formats, pq.Format.BINARY)
        return checked(result)
    except psycopg.Error:
        # A plan that a migration made invalid must not fail for ever.
        _known.get(connection, {}).pop(_key(statement), None)
        raise


def name_of(connection: "psycopg.Connection[Any]", statement: Statement) -> bytes:
    known = _known.get(connection)
    if known is None:
        known = _known[connection] = {}
    key = _key(statement)
    return known.get(key) or _prepare(connection, known, key)


def _key(statement: Statement) -> tuple[str, tuple[int, ...]]:
    return statement.text, statement.types


def forget(connection: "psycopg.Connection[Any]") -> None:
    """After a change of types: what was prepared before knows them by numbers that are gone."""
    _known.pop(connection, None)


def _begin(connection: "psycopg.Connection[Any]") -> None:
    """A transaction that is due begins with its first statement: elsewhere a cursor sees to it."""
    if not connection.autocommit and connection.pgconn.transaction_status == pq.TransactionStatus.IDLE:
        checked(connection.pgconn.exec_(b"BEGIN"))


def _prepare(connection: "psycopg.Connection[Any]", known: _Known, key: tuple[str, tuple[int, ...]]) -> bytes:
    name = b"daybook_%d" % next(_numbers)
    checked(connection.pgconn.prepare(name, _numbered(key[0]), key[1]))
    known[key] = name
    return name


def loaded(result: pq.abc.PGresult) -> list[Any]:
    reader = Transformer()
    reader.set_pgresult(result)
    return list(reader.load_rows(0, result.ntuples, tuple))


def checked(result: pq.abc.PGresult) -> pq.abc.PGresult:
    if not is_good(result):
        raise psycopg.errors.error_from_result(result)
    return result


def is_good(result: pq.abc.PGresult) -> bool:
    return result.status in _GOOD


_GOOD = frozenset({pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK})


@lru_cache(maxsize=64)
def _numbered(statement: str) -> bytes:
    """With `$1`, `$2` … for each `%s`, as the server counts them."""
    first, *rest = statement.split("%s")
    return (first + "".join(f"${place}{part}" for place, part in enumerate(rest, 1))).encode()
