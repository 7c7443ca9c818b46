"""Where the embedded broker listens, and how each client library spells that address."""

import hashlib
import os
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

# The kernel takes 107 bytes on Linux and 103 on macOS.
LONGEST_SOCKET_PATH = 100


def broker_socket(data_dir: Path) -> Path:
    """In the data directory; where that is too deep for a socket, in a private folder named after it."""
    socket = data_dir / "broker.sock"
    if len(os.fsencode(socket)) <= LONGEST_SOCKET_PATH:
        return socket
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    # Not the user's temporary folder: that differs between a login and a service, and this must not.
    return Path("/tmp") / f"daybook-{os.getuid()}-{digest}" / "broker.sock"  # noqa: S108 (the folder is checked to be ours)


def celery_broker_url(redis_url: str) -> str:
    """Celery spells a unix socket, and the database number behind one, in its own way."""
    url = urlsplit(redis_url)
    if url.scheme != "unix":
        return redis_url
    query = urlencode(
        [("virtual_host" if name == "db" else name, value) for name, value in parse_qsl(url.query)]
    )
    return f"redis+socket://{url.path}{'?' + query if query else ''}"
