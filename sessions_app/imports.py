"""Uploaded files: a row first, then a task; what a lost worker left is taken up again from the start."""

import hashlib
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import structlog
from celery import current_app
from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import OperationalError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from sessions_app import paging
from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.models import Agent, Import, ImportState, time_ordered_id
from sessions_app.objects import iso
from sessions_app.problems import BadRequest, NotFound, TooLarge
from sessions_app.sessions import UID
from sessions_app.transcripts.importing import import_path
from sessions_app.transcripts.records import File
from sessions_app.transcripts.report import FileReport

TASK = "sessions_app.tasks.run_import"
HOLD = timedelta(minutes=5)
TELL_EVERY_SECONDS = 1.0
KEPT_FILES = timedelta(days=1)
WAITING = Q(state__in=[ImportState.QUEUED, ImportState.RUNNING])

log = structlog.get_logger(__name__)


def accept(
    caller_agent: int, upload: "UploadedFile[bytes]", form: str, now: datetime, *, dry_run: bool
) -> Import:
    """The file is ours before the row tells of it; without the row it goes again."""
    if upload.size is not None and upload.size > settings.MAX_UPLOAD_BYTES:
        raise TooLarge(f"A file may be at most {settings.MAX_UPLOAD_BYTES} bytes.")
    row = Import(
        uid=time_ordered_id(),
        agent_id=caller_agent,
        format=form,
        dry_run=dry_run,
        file_name=safe_name(upload.name or ""),
        size=upload.size or 0,
        created_at=now,
    )
    _keep(upload, place_of(row))

    def work() -> Import:
        row.save(force_insert=True)
        transaction.on_commit(lambda: send(row.uid))
        return row

    try:
        return commit(work)
    except BaseException:
        place_of(row).unlink(missing_ok=True)
        raise


def safe_name(name: str) -> str:
    """The last part alone, without what cannot be stored."""
    plain = name.replace("\\", "/").rpartition("/")[2].replace("\x00", "")
    return plain.encode("utf-8", "replace").decode()[-255:] or "upload"


def place_of(row: Import) -> Path:
    """Made of an id of ours: nothing in it can lead away."""
    return Path(settings.UPLOAD_DIR) / f"{row.uid}.import"


def _keep(upload: "UploadedFile[bytes]", place: Path) -> None:
    if not isinstance(upload, TemporaryUploadedFile):
        raise BadRequest("The file did not come whole.")
    Path(upload.temporary_file_path()).replace(place)


def digest_of(upload: "UploadedFile[bytes]") -> bytes:
    found = hashlib.sha256()
    for chunk in upload.chunks():
        found.update(chunk)
    return found.digest()


def send(uid: UUID) -> None:
    current_app.send_task(TASK, [str(uid)], retry=False)


def run(uid: UUID, now: datetime) -> bool:
    """False where somebody else has it, or it is done."""
    if not _claim(uid, now):
        return False
    row = Import.objects.get(uid=uid)
    place = place_of(row)
    if not place.exists():
        _finish(row, error="The file is not here: web and worker need one folder for uploads.")
        return True
    try:
        _import(row, place, now)
    except OperationalError:
        # The database is away; the hold runs out, and somebody takes it up again.
        log.exception("an import was interrupted", import_id=str(uid))
        raise
    except Exception:
        log.exception("an import failed", import_id=str(uid))
        _finish(row, error="It failed on our side. The log has its id.")
        raise
    return True


def _import(row: Import, place: Path, now: datetime) -> None:
    agent = Agent.objects.get(pk=row.agent_id)
    caller = Caller(0, agent.pk, agent.name, agent.timezone, frozenset(), redaction=agent.redaction)
    told_at = time.monotonic()

    def progress(file: File, told: FileReport) -> None:
        nonlocal told_at
        if time.monotonic() - told_at >= TELL_EVERY_SECONDS:
            told_at = time.monotonic()
            _tell(row, file.position, told.shown())

    report = import_path(
        caller,
        row.format,
        place,
        now,
        name=row.file_name,
        dry_run=row.dry_run,
        room=Path(settings.UPLOAD_DIR),
        progress=progress,
    )
    shown = report.shown()
    broken = report.count == report.failed == 1
    _finish(row, error=shown["files"][0]["error"][:500] if broken else "", report=shown)


def _claim(uid: UUID, now: datetime) -> bool:
    free = Q(held_until__isnull=True) | Q(held_until__lt=now)
    found = Import.objects.filter(WAITING, free, uid=uid)
    return commit(lambda: found.update(state=ImportState.RUNNING, held_until=now + HOLD)) == 1


def _tell(row: Import, position: int, so_far: dict[str, Any]) -> None:
    found = Import.objects.filter(pk=row.pk)
    read = min(position, row.size)
    held = timezone.now() + HOLD
    commit(lambda: found.update(bytes_read=read, held_until=held, report={"so_far": so_far}))


def _finish(row: Import, *, error: str = "", report: dict[str, Any] | None = None) -> None:
    state = ImportState.FAILED if error else ImportState.DONE
    found = Import.objects.filter(pk=row.pk)
    values = {"state": state, "error": error, "held_until": None, "finished_at": timezone.now()}
    read = {} if error and report is None else {"report": report or {}, "bytes_read": row.size}
    commit(lambda: found.update(**values, **read))
    place_of(row).unlink(missing_ok=True)


def resume(now: datetime) -> int:
    """Calls a worker to whatever waits and is held by nobody; removes files that no row tells of."""
    free = Q(held_until__isnull=True, created_at__lt=now - timedelta(seconds=30)) | Q(held_until__lt=now)
    waiting = list(Import.objects.filter(WAITING, free).values_list("uid", flat=True)[:100])
    for uid in waiting:
        send(uid)
    known = {f"{uid}.import" for uid in Import.objects.filter(WAITING).values_list("uid", flat=True)}
    for path in Path(settings.UPLOAD_DIR).iterdir():
        if path.is_file() and path.name not in known:
            _remove_old(path, now)
    return len(waiting)


def _remove_old(path: Path, now: datetime) -> None:
    try:
        if path.stat().st_mtime < (now - KEPT_FILES).timestamp():
            path.unlink()
    except FileNotFoundError:
        return


def of(caller: Caller) -> QuerySet[Import]:
    return Import.objects.filter(agent_id=caller.agent_id)


def one(caller: Caller, text: str) -> dict[str, Any]:
    row = of(caller).filter(uid=UUID(text)).first() if UID.match(text) else None
    if row is None:
        raise NotFound("There is no such import.")
    return shown(row)


def listed(caller: Caller, cursor: str | None, limit: int) -> paging.Page:
    found = of(caller)
    if cursor is not None:
        created_at, uid = paging.decode(cursor, paging.moment, paging.uid)
        found = found.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, uid__lt=uid))
    return paging.page(
        list(found.order_by("-created_at", "-uid")[: limit + 1]),
        limit,
        lambda rows: [shown(row) for row in rows],
        lambda row: paging.encode(iso(row.created_at) or "", str(row.uid)),
    )


def shown(row: Import) -> dict[str, Any]:
    return {
        "id": str(row.uid),
        "state": row.state,
        "format": row.format,
        "dry_run": row.dry_run,
        "file_name": row.file_name,
        "size": row.size,
        "bytes_read": row.bytes_read,
        "report": row.report or None,
        "error": row.error or None,
        "created_at": iso(row.created_at),
        "finished_at": iso(row.finished_at),
    }
