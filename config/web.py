"""The web server: `python -m config.web`. `up` and the containers start it in this one way."""

import copy
import gc
import os

from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels
from granian.server import Server

# Streams of events end only with their client: past this they are cut, so that no restart waits for them.
STOP_SECONDS = 5


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # Loaded before the processes part: they start at once and share the memory of the code. Freezing keeps
    # the collector from touching, and so copying, those pages.
    from django.conf import settings

    import config.wsgi  # noqa: F401

    gc.collect()
    gc.freeze()
    Server(
        "config.wsgi:application",
        address=settings.HOST,
        port=settings.PORT,
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        websockets=False,
        workers=settings.WEB_WORKERS,
        blocking_threads=settings.WEB_THREADS,
        # A thread that ends takes its database connection with it.
        blocking_threads_idle_timeout=600,
        backlog=2048,
        log_level=LogLevels.warning,
        log_dictconfig=copy.deepcopy(settings.LOGGING),
        respawn_failed_workers=True,
        respawn_interval=0.5,
        workers_kill_timeout=STOP_SECONDS,
    ).serve()


if __name__ == "__main__":
    main()
