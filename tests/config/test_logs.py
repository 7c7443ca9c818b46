"""Log lines as they leave, and the request id on its way into a task."""

import io
import json
import logging
import logging.config
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from celery import shared_task
from celery.app.trace import build_tracer

from config import celery, logs


@pytest.fixture(autouse=True)
def nothing_bound() -> Iterator[None]:
    structlog.contextvars.clear_contextvars()
    yield
    structlog.contextvars.clear_contextvars()


def written(form: str, write: Any) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.formatter(form))
    logger = logging.getLogger("tests.logs")
    logger.addHandler(handler)
    try:
        write(logger)
    finally:
        logger.removeHandler(handler)
    return stream.getvalue()


def test_a_line_of_a_library_is_json_with_the_request_id() -> None:
    structlog.contextvars.bind_contextvars(request_id="r-1")
    line = json.loads(written(logs.JSON, lambda logger: logger.warning("disk %s", "full")))
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "disk full", "level": "warning", "logger": "tests.logs", "request_id": "r-1"}


def test_a_failure_is_one_line_of_json_with_its_traceback() -> None:
    def fail(logger: logging.Logger) -> None:
        try:
            raise ValueError("broken\nin two")  # noqa: TRY301 - the traceback is what is looked at
        except ValueError:
            logger.exception("failed")

    text = written(logs.JSON, fail)
    assert text.count("\n") == 1
    assert "ValueError: broken\nin two" in json.loads(text)["exception"]


def test_on_a_console_a_line_is_for_the_eye() -> None:
    text = written(logs.CONSOLE, lambda logger: logger.warning("disk full"))
    assert "disk full" in text
    assert "tests.logs" in text
    assert not text.startswith("{")


def test_a_failure_on_a_console_shows_no_local_variables() -> None:
    def fail(logger: logging.Logger) -> None:
        secret = "dbk_" + "x" * 4
        try:
            raise ValueError(len(secret))  # noqa: TRY301 - the traceback is what is looked at
        except ValueError:
            logger.exception("failed")

    text = written(logs.CONSOLE, fail)
    assert "ValueError: 8" in text
    assert "dbk_xxxx" not in text


def test_of_djangos_lines_about_answers_those_with_a_traceback_stay() -> None:
    passes = logs.only_raised()
    plain = logging.LogRecord("django.request", logging.WARNING, "", 1, "Not Found", (), None)
    raised = logging.LogRecord("django.request", logging.ERROR, "", 1, "", (), (OSError, OSError(), None))
    assert (passes(plain), passes(raised)) == (False, True)
    assert logging.getLogger("django.request").filters


def test_advice_that_we_know_is_left_out_and_nothing_else() -> None:
    passes = logs.known_advice()

    def record(text: str) -> logging.LogRecord:
        return logging.LogRecord("_granian", logging.WARNING, "", 0, text, None, None)

    assert not passes(record("Configuration allows spawning up to 64 threads"))
    assert passes(record("Worker died"))


@shared_task(name="tests.show_context")
def show_context(seen: list[Any]) -> None:
    seen.append(dict(structlog.contextvars.get_contextvars()))


def test_a_task_takes_the_request_id_of_the_message_that_brought_it() -> None:
    structlog.contextvars.bind_contextvars(request_id="r-2")
    headers: dict[str, Any] = {}
    celery.send_request_id(headers=headers)
    assert headers == {"request_id": "r-2"}
    structlog.contextvars.clear_contextvars()

    seen: list[Any] = []
    # As a worker runs it: the headers of the message are what the task's request is made of.
    trace = build_tracer(show_context.name, show_context, app=celery.app)
    trace("task-2", [seen], {}, headers)
    assert seen[0]["request_id"] == "r-2"
    assert seen[0]["task"] == "tests.show_context"
    assert structlog.contextvars.get_contextvars() == {}


def test_a_task_that_nobody_asked_for_is_known_by_its_own_id() -> None:
    seen: list[Any] = []
    show_context.apply(args=(seen,), task_id="task-3")
    assert seen[0]["request_id"] == "task-3"


@pytest.mark.parametrize("client", ["httpx", "httpx2", "openai"])
def test_a_request_to_a_model_is_no_line_and_its_failure_is(client: str) -> None:
    logging.config.dictConfig(logs.logging_config(level="info", form=logs.JSON))
    logger = logging.getLogger(client)
    assert (logger.isEnabledFor(logging.INFO), logger.isEnabledFor(logging.WARNING)) == (False, True)
