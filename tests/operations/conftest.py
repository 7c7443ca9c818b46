import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
import redis

from tests.servers import HALF_OF_REDIS

from .daybook import Daybook

MakeDaybook = Callable[..., Daybook]


@pytest.fixture(scope="session")
def servers(pytestconfig: pytest.Config, worker_id: str) -> Iterator[Callable[[], dict[str, str]]]:
    """Variables for one more Daybook: none on SQLite, else a database of its own on the tests' servers."""
    if pytestconfig.getoption("database") == "sqlite":
        yield dict
        return
    server, names = os.environ["DATABASE_URL"], []
    redis_url = urlunsplit(urlsplit(os.environ["REDIS_URL"])._replace(path=f"/{redis_number(worker_id)}"))

    def make() -> dict[str, str]:
        names.append(f"daybook_up_{secrets.token_hex(6)}")
        _execute(server, f'CREATE DATABASE "{names[-1]}"')
        with redis.Redis.from_url(redis_url) as broker:
            broker.flushdb()
        url = urlunsplit(urlsplit(server)._replace(path=f"/{names[-1]}"))
        return {"DATABASE_URL": url, "REDIS_URL": redis_url}

    yield make
    for name in names:
        _execute(server, f'DROP DATABASE "{name}" WITH (FORCE)')


def redis_number(worker_id: str) -> int:
    """Daybooks that run side by side must not take each other's tasks."""
    number = 0 if worker_id == "master" else 1 + int(worker_id.removeprefix("gw"))
    return HALF_OF_REDIS + number % HALF_OF_REDIS


def _execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


@pytest.fixture
def make_daybook(tmp_path: Path, servers: Callable[[], dict[str, str]]) -> Iterator[MakeDaybook]:
    made: list[Daybook] = []

    def make(data_dir: Path | None = None, **variables: str) -> Daybook:
        daybook = Daybook(data_dir or tmp_path / "data", **(servers() | variables))
        made.append(daybook)
        return daybook

    yield make
    for daybook in made:
        daybook.end()


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, servers: Callable[[], dict[str, str]]
) -> Iterator[Daybook]:
    """One Daybook for all tests that leave it running, in a folder that is deep and has an odd name."""
    folder = tmp_path_factory.mktemp("running") / 'a folder, 100% "odd" é' / ("deep" * 25) / "data"
    daybook = Daybook(folder, **servers()).start()
    try:
        yield daybook.ready()
    finally:
        daybook.end()
