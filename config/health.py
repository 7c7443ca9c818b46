"""Is the process up, can it serve, and what has it counted."""

from collections.abc import Callable
from datetime import UTC, datetime

import orjson
import structlog
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST

from config import broker, telemetry
from sessions_app.problems import CONTENT_TYPE as PROBLEM

log = structlog.get_logger(__name__)

OK = "ok"


def healthz(request: HttpRequest) -> HttpResponse:
    return _json(200, {"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    checks = {name: check() for name, check in CHECKS.items()}
    wrong = [f"{name}: {answer}" for name, answer in checks.items() if answer != OK]
    if not wrong:
        return _json(200, {"status": "ready", "checks": checks, "last_beat_age_seconds": _last_beat_age()})
    return _json(
        503,
        {
            "type": "about:blank",
            "title": "Not ready",
            "status": 503,
            "detail": "; ".join(wrong),
            "checks": checks,
        },
        content_type=PROBLEM,
    )


def metrics(request: HttpRequest) -> HttpResponse:
    return HttpResponse(telemetry.exposition(), content_type=CONTENT_TYPE_LATEST)


def check_database() -> str:
    try:
        with connection.cursor() as cursor:
            # Unlike "SELECT 1" this makes SQLite open and read its file.
            cursor.execute("SELECT 1 FROM django_migrations LIMIT 1" if _migrated else "SELECT 1")
    except DatabaseError as error:
        log.warning("database does not answer", error=str(error))
        return "does not answer"
    return OK


def check_broker() -> str:
    try:
        broker.answers()
    except broker.Unavailable as error:
        log.warning("broker does not answer", error=str(error))
        return "does not answer"
    return OK


def check_migrations() -> str:
    try:
        missing = _unapplied_migrations()
    except DatabaseError:
        return "unknown, because the database does not answer"
    return f"{missing} not applied" if missing else OK


CHECKS: dict[str, Callable[[], str]] = {
    "database": check_database,
    "broker": check_broker,
    "migrations": check_migrations,
}

# Applied migrations stay applied for as long as this process lives, and looking costs far more than the rest.
_migrated: set[str] = set()


def _unapplied_migrations() -> int:
    if connection.alias in _migrated:
        return 0
    executor = MigrationExecutor(connection)
    missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if not missing:
        _migrated.add(connection.alias)
    return missing


def _last_beat_age() -> float | None:
    try:
        beat = broker.last_beat()
    except broker.Unavailable:
        return None
    return round((datetime.now(UTC) - beat).total_seconds(), 1) if beat else None


def _json(status: int, body: dict[str, object], *, content_type: str = "application/json") -> HttpResponse:
    return HttpResponse(orjson.dumps(body), status=status, content_type=content_type)
