from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway_app.admin.acting import acting_for
from gateway_app.keys import agent_named
from sessions_app.access import Caller
from sessions_app.transcripts.importing import import_path

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)

Import = Callable[..., dict[str, Any]]


@pytest.fixture
def caller(db: None) -> Caller:
    return acting_for(agent_named("main"), NOW)


@pytest.fixture
def bring_in(caller: Caller) -> Import:
    """What the import of a path reports; `known` formats by name, else found by itself."""

    def run(path: Path, form: str = "auto", *, who: Caller = caller, **options: Any) -> dict[str, Any]:
        return import_path(who, form, path, NOW, **options).shown()

    return run


def write_lines(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"".join(line if isinstance(line, bytes) else orjson.dumps(line) + b"\n" for line in records)
    )
    return path


def read_lines(raw: bytes) -> list[Any]:
    return [orjson.loads(line) for line in raw.splitlines()]
