from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env
from config.env import DatabaseAddress, parse_database_url

NAME = "DAYBOOK_TRIED"
DEFAULT = DatabaseAddress("sqlite", "/default.sqlite3")


def number(name: str) -> int:
    return env.integer(name, 3, least=1, most=9)


def size(name: str) -> str:
    return env.choice(name, "small", ("small", "large"))


def folder(name: str) -> Path:
    return env.folder(name, Path("/somewhere"))


@pytest.mark.parametrize(
    ("read", "given", "value"),
    [
        (lambda name: env.boolean(name, False), "YES", True),
        (lambda name: env.boolean(name, True), "off", False),
        (number, " 9 ", 9),
        (size, "LARGE", "large"),
        (lambda name: env.names(name, ()), "a.example, b.example,,", ["a.example", "b.example"]),
        (env.text, "  text ", "text"),
        (folder, "/data/../elsewhere", Path("/elsewhere")),
        (lambda name: env.redis_url(name, ""), "rediss://:pw@host:6380/2", "rediss://:pw@host:6380/2"),
        (lambda name: env.redis_url(name, ""), "unix:///run/redis.sock?db=1", "unix:///run/redis.sock?db=1"),
    ],
)
def test_a_value_is_read_as_what_it_is(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str], object], given: str, value: object
) -> None:
    monkeypatch.setenv(NAME, given)
    assert read(NAME) == value


@pytest.mark.parametrize("given", [None, "", "   "])
def test_a_variable_that_is_not_set_or_empty_is_its_default(
    monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    monkeypatch.delenv(NAME, raising=False)
    if given is not None:
        monkeypatch.setenv(NAME, given)
    assert number(NAME) == 3
    assert size(NAME) == "small"
    assert env.boolean(NAME, True) is True
    assert env.names(NAME, ("a", "b")) == ["a", "b"]
    assert env.database(NAME, DEFAULT) == DEFAULT


@pytest.mark.parametrize(
    ("read", "given", "said"),
    [
        (lambda name: env.boolean(name, False), "maybe", "must be true or false; it is 'maybe'."),
        (number, "ten", "must be a whole number from 1 to 9; it is 'ten'."),
        (number, "10", "must be a whole number from 1 to 9; it is '10'."),
        (number, "0", "must be a whole number from 1 to 9; it is '0'."),
        (number, "1.5", "must be a whole number from 1 to 9; it is '1.5'."),
        (size, "huge", "must be one of small, large; it is 'huge'."),
    ],
)
def test_a_bad_value_is_named_with_what_it_should_be(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str], object], given: str, said: str
) -> None:
    monkeypatch.setenv(NAME, given)
    with pytest.raises(ImproperlyConfigured) as refused:
        read(NAME)
    assert str(refused.value) == f"{NAME} {said}"


@pytest.mark.parametrize(
    "given",
    [
        "mysql://user:s3cret@host/name",
        "postgres://user:s3cret@host",
        "postgres://user:s3cret@host:port/name",
        "postgres://user:s3cret@host/name?sslmode",
        "sqlite://",
        "s3cret",
        "postgres://[s3cret/name",
    ],
)
def test_a_bad_database_address_is_refused_without_being_repeated(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv(NAME, given)
    with pytest.raises(ImproperlyConfigured) as refused:
        env.database(NAME, DEFAULT)
    assert str(refused.value) == (
        f"{NAME} must be postgres://user:password@host:port/name or sqlite:///path/to/file."
    )
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    "given",
    [
        "http://:s3cret@host",
        "redis://",
        "redis://:s3cret@host:port",
        "unix://host/s3cret",
        "unix://",
        "s3cret",
    ],
)
def test_a_bad_broker_address_is_refused_without_being_repeated(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv(NAME, given)
    with pytest.raises(ImproperlyConfigured) as refused:
        env.redis_url(NAME, "")
    assert str(refused.value) == (
        f"{NAME} must be redis://host:port/0, rediss://host:port/0 or unix:///path/to/socket."
    )


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("sqlite:////var/lib/daybook.db", DatabaseAddress("sqlite", "/var/lib/daybook.db")),
        ("sqlite:///var/lib/a%20b.db", DatabaseAddress("sqlite", "/var/lib/a b.db")),
        (
            "postgres://us%40er:p%2Fw@db.example:5433/day%20book",
            DatabaseAddress("postgresql", "day book", "us@er", "p/w", "db.example", "5433", {}),
        ),
        (
            "postgresql://user@/name?host=/run/postgresql&sslmode=require",
            DatabaseAddress("postgresql", "name", "user", "", "/run/postgresql", "", {"sslmode": "require"}),
        ),
        (
            "postgres://user@/name?host=%2Frun%2Fpg&port=5434",
            DatabaseAddress("postgresql", "name", "user", "", "/run/pg", "5434", {}),
        ),
    ],
)
def test_a_database_address_is_taken_apart(url: str, address: DatabaseAddress) -> None:
    assert parse_database_url(url) == address


def test_a_folder_that_cannot_be_written_is_named_with_its_variable(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ImproperlyConfigured) as refused:
        env.writable_folder("DAYBOOK_DATA_DIR", file / "data")
    assert str(refused.value) == (
        "DAYBOOK_DATA_DIR must lead to a folder that can be written; "
        f"{file / 'data'} cannot (Not a directory)."
    )


def test_a_writable_folder_is_made_with_all_above_it(tmp_path: Path) -> None:
    assert env.writable_folder("DAYBOOK_DATA_DIR", tmp_path / "a" / "b").is_dir()
