"""Typed reading of environment variables: a wrong value is named, with what it should be."""

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}


def read(name: str, default: T, parse: Callable[[str], T], expected: str, *, secret: bool = False) -> T:
    raw = os.environ.get(name, "").strip()
    if not raw:
        return default
    try:
        return parse(raw)
    except ValueError:
        # An address may hold a password, and this message ends up in logs.
        found = "" if secret else f"; it is {raw!r}"
        raise ImproperlyConfigured(f"{name} must be {expected}{found}.") from None


def text(name: str, default: str = "") -> str:
    return read(name, default, str, "text")


def boolean(name: str, default: bool) -> bool:
    return read(name, default, _parse_boolean, "true or false")


def integer(name: str, default: int, *, least: int, most: int) -> int:
    def parse(raw: str) -> int:
        value = int(raw)
        if not least <= value <= most:
            raise ValueError
        return value

    return read(name, default, parse, f"a whole number from {least} to {most}")


def choice(name: str, default: str, options: tuple[str, ...]) -> str:
    def parse(raw: str) -> str:
        if raw.lower() not in options:
            raise ValueError
        return raw.lower()

    return read(name, default, parse, "one of " + ", ".join(options))


def names(name: str, default: tuple[str, ...]) -> list[str]:
    def parse(raw: str) -> tuple[str, ...]:
        return tuple(part.strip() for part in raw.split(",") if part.strip())

    return list(read(name, default, parse, "names separated by commas"))


def folder(name: str, default: Path) -> Path:
    return read(name, default, lambda raw: Path(raw).expanduser().resolve(), "the path of a folder")


def writable_folder(variable: str, path: Path) -> Path:
    """Makes the folder; a failure names the variable that led here."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError as error:
        raise ImproperlyConfigured(
            f"{variable} must lead to a folder that can be written; {path} cannot ({error.strerror})."
        ) from None


def redis_url(name: str, default: str) -> str:
    return read(
        name,
        default,
        _parse_redis_url,
        "redis://host:port/0, rediss://host:port/0 or unix:///path/to/socket",
        secret=True,
    )


@dataclass(frozen=True)
class DatabaseAddress:
    vendor: str
    name: str
    user: str = ""
    password: str = ""
    host: str = ""
    port: str = ""
    options: Mapping[str, str] | None = None


def database(name: str, default: DatabaseAddress) -> DatabaseAddress:
    return read(
        name,
        default,
        parse_database_url,
        "postgres://user:password@host:port/name or sqlite:///path/to/file",
        secret=True,
    )


def parse_database_url(raw: str) -> DatabaseAddress:
    url = urlsplit(raw)
    if url.scheme == "sqlite" and url.path.strip("/"):
        return DatabaseAddress("sqlite", unquote(url.path[1:] if url.path.startswith("//") else url.path))
    if url.scheme not in {"postgres", "postgresql"} or not url.path.strip("/"):
        raise ValueError(raw)
    options = dict(pair.split("=", 1) for pair in url.query.split("&")) if url.query else {}
    return DatabaseAddress(
        "postgresql",
        unquote(url.path.strip("/")),
        unquote(url.username or ""),
        unquote(url.password or ""),
        # A unix socket folder cannot stand in the host part of an address: it comes as ?host=/path.
        unquote(options.pop("host", "")) or url.hostname or "",
        str(url.port or options.pop("port", "")),
        {key: unquote(value) for key, value in options.items()},
    )


def _parse_boolean(raw: str) -> bool:
    if raw.lower() in TRUE:
        return True
    if raw.lower() in FALSE:
        return False
    raise ValueError(raw)


def _parse_redis_url(raw: str) -> str:
    url = urlsplit(raw)
    # Reading the port checks it: a word or a number too large is a ValueError.
    if url.port is not None and url.scheme == "unix":
        raise ValueError(raw)
    if url.scheme in {"redis", "rediss"} and url.hostname:
        return raw
    if url.scheme == "unix" and url.path.strip("/") and not url.hostname:
        return raw
    raise ValueError(raw)
