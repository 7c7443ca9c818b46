"""Imports, exports, redaction and retention over HTTP."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.multipartparser import MultiPartParserError
from django.utils import timezone
from ninja import Query, Router

from sessions_app import imports, redaction, retention
from sessions_app import transfer_schemas as schemas
from sessions_app.access import Caller, caller, requires
from sessions_app.documents import answers, file_of
from sessions_app.http import answer_made, json_answer, made
from sessions_app.idempotency import Answer
from sessions_app.problems import BadRequest, TooLarge, UnsupportedMediaType, invalid
from sessions_app.schemas import ListQuery, Page
from sessions_app.sessions import find, parse_uid
from sessions_app.transcripts import exporting
from sessions_app.transcripts.formats import AUTO, FORMATS
from sessions_app.transcripts.reading import sessions_of
from sessions_app.transcripts.times import moment

router = Router(tags=["transfer"])

# The room for the form around the file.
FORM_BYTES = 64 * 1024
UPLOAD: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "format": {"type": "string", "enum": list(FORMATS), "default": AUTO},
                        "dry_run": {"type": "boolean", "default": False},
                    },
                }
            }
        },
    }
}
ZIP = "application/zip"


@router.post("/imports", response=answers({202: schemas.ImportOut}), openapi_extra=UPLOAD)
@requires("admin")
def start_import(request: HttpRequest) -> HttpResponse:
    """Upload a file or a zip of files; a task imports it, and `GET /imports/{id}` tells how far it is."""
    who, now = caller(request), timezone.now()
    upload, form, dry_run = _upload(request)

    def work() -> Answer:
        return made(imports.shown(imports.accept(who.agent_id, upload, form, now, dry_run=dry_run)), 202)

    def identity() -> bytes:
        return f"{form} {dry_run} {upload.name} ".encode() + imports.digest_of(upload)

    return answer_made(request, work, now, identity)


@router.get("/imports", response=answers({200: Page[schemas.ImportOut]}))
@requires("admin")
def list_imports(request: HttpRequest, query: Query[ListQuery]) -> HttpResponse:
    """Newest first."""
    return json_answer(imports.listed(caller(request), **query.dict()))


@router.get("/imports/{import_id}", response=answers({200: schemas.ImportOut}))
@requires("admin")
def read_import(request: HttpRequest, import_id: str) -> HttpResponse:
    """How far an import has come, and its report."""
    return json_answer(imports.one(caller(request), import_id))


@router.get(
    "/sessions/{session_id}/export",
    response=answers({200: None}),
    openapi_extra=file_of(*exporting.CONTENT_TYPES),
)
@requires("read")
def export_session(
    request: HttpRequest, session_id: str, query: Query[schemas.ExportQuery]
) -> StreamingHttpResponse:
    """One session as a file."""
    who = caller(request)
    session = find(who, parse_uid(session_id))
    pieces = exporting.one(
        who, session, query.format, timezone.now(), redact=query.redact, include_hidden=query.include_hidden
    )
    name = exporting.file_name(session, query.format)
    return _streamed(pieces, exporting.content_type(query.format), name)


@router.get("/export", response=answers({200: None}), openapi_extra=file_of(exporting.ARCHIVE_TYPE, ZIP))
@requires("admin")
def export_agent(request: HttpRequest, query: Query[schemas.AgentExportQuery]) -> StreamingHttpResponse:
    """All sessions of the agent, or those of a period: an archive, or a zip with a file for each."""
    who = caller(request)
    since, until = _moment(who, "since", query.since), _moment(who, "until", query.until)
    chosen = sessions_of(who, since=since, until=until, platform=query.platform)
    pieces = exporting.many(
        who,
        chosen,
        query.format,
        timezone.now(),
        redact=query.redact,
        include_hidden=query.include_hidden,
        whole=not (since or until or query.platform),
    )
    is_archive = query.format == exporting.ARCHIVE
    name = f"{who.agent}.jsonl" if is_archive else f"{who.agent}-{query.format}.zip"
    return _streamed(pieces, exporting.ARCHIVE_TYPE if is_archive else ZIP, name)


@router.get("/redaction", response=answers({200: schemas.RedactionOut}))
@requires("read")
def read_redaction(request: HttpRequest) -> HttpResponse:
    """What is made unreadable, and where."""
    return json_answer(redaction.settings_of(caller(request).redaction))


@router.put("/redaction", response=answers({200: schemas.RedactionOut}))
@requires("admin")
def put_redaction(request: HttpRequest, data: schemas.RedactionIn) -> HttpResponse:
    """What is made unreadable, and where: the setting whole."""
    return json_answer(redaction.change(caller(request), data.dict()))


@router.get("/retention-rules", response=answers({200: Page[schemas.RetentionOut]}))
@requires("read")
def list_rules(request: HttpRequest, query: Query[ListQuery]) -> HttpResponse:
    """What is kept for how long."""
    return json_answer(retention.listed(caller(request), **query.dict()))


@router.put("/retention-rules", response=answers({200: schemas.RetentionOut}))
@requires("admin")
def put_rule(request: HttpRequest, data: schemas.RetentionIn) -> HttpResponse:
    """Set the rule of a platform, chat type and kind, whole."""
    return json_answer(retention.put(caller(request), data.dict(), timezone.now()))


@router.delete("/retention-rules/{rule_id}", response=answers({204: None}))
@requires("admin")
def remove_rule(request: HttpRequest, rule_id: str) -> HttpResponse:
    """Remove a rule: what it would delete stays."""
    retention.remove(caller(request), rule_id)
    return HttpResponse(status=204)


@router.get("/retention-rules/{rule_id}/preview", response=answers({200: schemas.PreviewOut}))
@requires("read")
def preview_rule(request: HttpRequest, rule_id: str) -> HttpResponse:
    """What the rule would delete now. Nothing is deleted."""
    return json_answer(retention.preview(retention.one(caller(request), rule_id), timezone.now()))


@router.get("/deletions", response=answers({200: Page[schemas.DeletionOut]}))
@requires("read")
def list_deletions(request: HttpRequest, query: Query[schemas.DeletionQuery]) -> HttpResponse:
    """What was deleted by rules and on people's demand: how much, never what. Newest first."""
    return json_answer(retention.deletions(caller(request), **query.dict()))


def _upload(request: HttpRequest) -> "tuple[UploadedFile[bytes], str, bool]":
    """Read here and not before: who may not import sends no gigabytes to our disk."""
    if request.content_type != "multipart/form-data":
        raise UnsupportedMediaType("The body must be multipart/form-data with a field `file`.")
    if int(request.META.get("CONTENT_LENGTH") or 0) > settings.MAX_UPLOAD_BYTES + FORM_BYTES:
        raise TooLarge(f"A file may be at most {settings.MAX_UPLOAD_BYTES} bytes.")
    try:
        fields, files = request.POST, request.FILES
    except MultiPartParserError as error:
        raise BadRequest(f"The form cannot be read: {error}.") from None
    for name in (*fields, *files):
        if name not in ("file", "format", "dry_run"):
            shown = name.replace("\x00", "")[:64]
            raise invalid(["body", shown], "There is no such field here.", "extra_forbidden")
    upload = files.get("file")
    if not isinstance(upload, UploadedFile):
        raise invalid(["body", "file"], "The file is missing.", "missing")
    form, dry_run = fields.get("format", AUTO), fields.get("dry_run", "false").lower()
    if form not in FORMATS:
        raise invalid(["body", "format"], f"It must be one of {', '.join(FORMATS)}.", "enum")
    if dry_run not in ("true", "false"):
        raise invalid(["body", "dry_run"], "It must be true or false.", "bool_parsing")
    return upload, form, dry_run == "true"


def _moment(who: Caller, name: str, given: str | None) -> datetime | None:
    if given is None:
        return None
    found = moment(given, who.zone)
    if found is None:
        raise invalid(["query", name], "It must be a time in ISO 8601.", "datetime_parsing")
    return found


def _streamed(pieces: Iterator[bytes], kind: str, name: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(pieces, content_type=kind)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["X-Accel-Buffering"] = "no"
    return response
