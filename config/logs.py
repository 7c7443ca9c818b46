"""Every log line, ours or a library's, leaves through structlog: as JSON or for the eye, with its request id.

The configuration is plain data, so that the web server's own processes can take it before Django is loaded.
"""

import logging
import sys
from collections.abc import Callable
from typing import Any

import structlog
from structlog.typing import Processor

CONSOLE, JSON = FORMATS = ("console", "json")

_TIMESTAMP = structlog.processors.TimeStamper(fmt="iso", utc=True)
_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.ExtraAdder(),
    _TIMESTAMP,
]


def logging_config(*, level: str, form: str) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "known": {"()": "config.logs.known_advice"},
            "raised": {"()": "config.logs.only_raised"},
        },
        "formatters": {"line": {"()": "config.logs.formatter", "form": form}},
        "handlers": {"line": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["line"], "level": level.upper()},
        "loggers": {
            # Django and granian bring handlers of their own; without these a line would be written twice.
            "django": {"handlers": [], "level": "INFO", "propagate": True},
            "django.request": {"filters": ["raised"]},
            "django.server": {"handlers": [], "level": "INFO", "propagate": True},
            "_granian": {"handlers": [], "level": "WARNING", "propagate": True, "filters": ["known"]},
            "granian.access": {"handlers": [], "level": "INFO", "propagate": True},
            # A line for each task that beat sends and the worker takes is noise; failures are logged higher.
            "celery.beat": {"level": "WARNING"},
            "celery.worker.consumer": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
            "django_celery_beat": {"level": "WARNING"},
            # A model's server is asked by these: its address in a line for each request is nobody's business.
            "httpx": {"level": "WARNING"},
            "httpx2": {"level": "WARNING"},
            "openai": {"level": "WARNING"},
        },
    }


def formatter(form: str) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(form)],
    )


def known_advice() -> Callable[[logging.LogRecord], bool]:
    """The web server warns of more threads than cores at each start. They are meant: they wait for data."""
    return lambda record: not record.getMessage().startswith("Configuration allows spawning up to")


def only_raised() -> Callable[[logging.LogRecord], bool]:
    """Django tells of each answer over 399 once more, after the request and its id are gone: our own line of
    it has both. A failure that was raised comes with its traceback, and only from there."""
    return lambda record: record.exc_info is not None


def configure_structlog() -> None:
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _rendering(form: str) -> list[Processor]:
    if form == JSON:
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    # Where rich is installed, the library's own choice prints local variables, and secrets with them.
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
