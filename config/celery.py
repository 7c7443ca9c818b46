"""The Celery application, and the request id that travels with a task."""

import time
import warnings
from collections.abc import Callable, Mapping
from contextvars import Token
from datetime import UTC, datetime
from typing import Any

import structlog
from celery import Celery, Task
from celery.signals import (
    before_task_publish,
    heartbeat_sent,
    setup_logging,
    task_postrun,
    task_prerun,
    worker_init,
)
from django.db import DEFAULT_DB_ALIAS, connections

from config import broker

# It warns root of pickled tasks; ours are JSON and nothing else is taken.
warnings.filterwarnings("ignore", message="You're running the worker with superuser")

app = Celery("daybook")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

REQUEST_ID = "request_id"
BEAT = "config.tasks.beat"
# A worker's heart beats every other second: this often it is written down.
NOTE_WORKER_EVERY = 10.0
_noted_at = 0.0
log = structlog.get_logger(__name__)
_tokens: dict[str, Mapping[str, Token[Any]]] = {}


@setup_logging.connect(weak=False)
def keep_our_logging(**_: Any) -> None:
    """Celery configures logging itself unless somebody listens here; Django's set-up has done it already."""


@worker_init.connect(weak=False)
def connect_without_a_pool(**_: Any) -> None:
    """Celery closes the whole pool behind each task, under the threads that go on with slow work. A worker's
    process has few threads, and a connection for each."""
    options: dict[str, Any] = connections[DEFAULT_DB_ALIAS].settings_dict["OPTIONS"]
    options.pop("pool", None)


@before_task_publish.connect(weak=False)
def send_request_id(headers: dict[str, Any], **_: Any) -> None:
    request_id = structlog.contextvars.get_contextvars().get(REQUEST_ID)
    if request_id is not None:
        headers[REQUEST_ID] = request_id


@task_prerun.connect(weak=False)
def bind_request_id(task_id: str, task: Task[Any, Any], **_: Any) -> None:
    # A task called in place, without a broker, carries no header and stays with its caller's id.
    request_id = (
        task.request.get(REQUEST_ID) or structlog.contextvars.get_contextvars().get(REQUEST_ID) or task_id
    )
    _tokens[task_id] = structlog.contextvars.bind_contextvars(request_id=request_id, task=task.name)


@task_postrun.connect(weak=False)
def restore_request_id(task_id: str, **_: Any) -> None:
    structlog.contextvars.reset_contextvars(**_tokens.pop(task_id))


@before_task_publish.connect(sender=BEAT, weak=False)
def note_scheduler(**_: Any) -> None:
    _note(broker.record_scheduler)


@heartbeat_sent.connect(weak=False)
def note_worker(sender: Any, **_: Any) -> None:
    global _noted_at  # noqa: PLW0603 - one heart in a process
    if time.monotonic() - _noted_at >= NOTE_WORKER_EVERY:
        _noted_at = time.monotonic()
        name: str = sender.eventer.hostname
        _note(lambda now: broker.record_worker(name, now))


def _note(write: Callable[[datetime], None]) -> None:
    try:
        write(datetime.now(UTC))
    except broker.Unavailable as error:
        # That nothing is written is the sign itself.
        log.debug("sign_lost", error=str(error))
