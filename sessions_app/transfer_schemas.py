"""Imports, exports, redaction and retention, as the OpenAPI document describes them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field, StrictBool, StrictInt, StrictStr

from sessions_app.redaction_rules import LONGEST_PATTERN, MOST_PATTERNS, PATTERN_NAME
from sessions_app.schemas import Asked, Given, ListQuery

ExportFormat = Literal["nanobot", "hermes", "openai", "anthropic", "markdown", "daybook"]


class ImportOut(Schema):
    id: str
    state: Literal["queued", "running", "done", "failed"]
    format: str
    dry_run: bool
    file_name: str
    size: int
    bytes_read: int = Field(description="Of the size: how far it has come.")
    report: dict[str, Any] | None = Field(
        description="While it runs `so_far`; then what was read, stored, known before and skipped, and why."
    )
    error: str | None
    created_at: datetime
    finished_at: datetime | None


class ExportQuery(Asked):
    format: ExportFormat = "daybook"
    redact: bool | None = Field(None, description="Else as the agent is set; an archive is whole by default.")
    include_hidden: bool = Field(False, description="Also what was rewound, cleared or compacted.")


class AgentExportQuery(ExportQuery):
    since: str | None = Field(None, description="ISO 8601: sessions that went on after it.")
    until: str | None = Field(None, description="ISO 8601: sessions that began before it.")
    platform: str | None = None


class Pattern(Given):
    name: Annotated[StrictStr, Field(pattern=PATTERN_NAME.pattern)]
    pattern: Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_PATTERN)]


class RedactionIn(Given):
    """The setting whole: what is left out has its default again."""

    builtin: StrictBool = Field(True, description="Provider keys, tokens, private keys, passwords in URLs.")
    email: StrictBool = False
    phone: StrictBool = False
    patterns: Annotated[list[Pattern], Field(max_length=MOST_PATTERNS)] = Field(default_factory=list)
    export: StrictBool = True
    display: StrictBool = Field(True, description="On operators' pages and in snippets.")
    storage: StrictBool = Field(
        False, description="Before it is stored: what is redacted is never known here."
    )
    window: StrictBool = Field(False, description="In the window that the agent reads.")


class RedactionOut(Schema):
    builtin: bool
    email: bool
    phone: bool
    patterns: list[dict[str, str]]
    export: bool
    display: bool
    storage: bool
    window: bool


class RetentionIn(Given):
    platform: Annotated[StrictStr, Field(max_length=64)] = ""
    chat_type: Literal["", "dm", "group", "channel", "thread"] = ""
    kind: Literal["", "tool_call", "error", "decision"] = Field(
        "", description="With a kind, entries of it are emptied (by `days` alone) instead of sessions erased."
    )
    days: Annotated[StrictInt, Field(ge=1, le=100_000)] | None = None
    sessions: Annotated[StrictInt, Field(ge=0, le=2_000_000_000)] | None = None
    bytes: Annotated[StrictInt, Field(ge=0, lt=2**50)] | None = None
    enabled: StrictBool = True


class RetentionOut(Schema):
    id: int
    platform: str | None
    chat_type: str | None
    kind: str | None
    days: int | None
    sessions: int | None
    bytes: int | None
    enabled: bool
    created_at: datetime


class PreviewOut(Schema):
    sessions: int
    messages: int
    bytes: int
    oldest_at: datetime | None
    newest_at: datetime | None
    first: list[str] = Field(description="Ids of the sessions that would go first.")


class DeletionOut(Schema):
    reason: str
    rule: str | None
    sessions: int
    messages: int
    bytes: int
    created_at: datetime


class DeletionQuery(ListQuery):
    pass
