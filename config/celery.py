"""The Celery application, and the request id that travels with a task."""

from collections.abc import Mapping
from contextvars import Token
from typing import Any

import structlog
from celery import Celery, Task
from celery.signals import before_task_publish, setup_logging, task_postrun, task_prerun

app = Celery("daybook")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

REQUEST_ID = "request_id"
_tokens: dict[str, Mapping[str, Token[Any]]] = {}


@setup_logging.connect(weak=False)
def keep_our_logging(**_: Any) -> None:
    """Celery configures logging itself unless somebody listens here; Django's set-up has done it already."""


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
