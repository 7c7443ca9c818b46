"""The health check of a container: `python -m config.probe [beat]`."""

import os
import sys
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPException

from django.conf import settings

# Several beats may be late before something is wrong.
BEAT_IS_LATE = timedelta(seconds=90)
# Where to reach a server that is bound to all addresses.
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (compared with, not bound to)


def web_is_ready(host: str, port: int) -> bool:
    request = HTTPConnection(EVERYWHERE.get(host, host), port, timeout=5)
    try:
        request.request("GET", "/readyz", headers={"Host": served_host(settings.ALLOWED_HOSTS)})
        return request.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        request.close()


def served_host(allowed: list[str]) -> str:
    """A name that the server takes for its own; a leading dot allows the domain itself too."""
    return "localhost" if allowed[0] == "*" else allowed[0].lstrip(".")


def beat_is_recent(now: datetime) -> bool:
    from config import broker  # needed by this probe alone

    beat = broker.last_beat()
    return beat is not None and now - beat < BEAT_IS_LATE


def main(*what: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    well = beat_is_recent(datetime.now(UTC)) if "beat" in what else web_is_ready(settings.HOST, settings.PORT)
    sys.exit(not well)


if __name__ == "__main__":
    main(*sys.argv[1:])
