"""Consolidations, memory, reflections and runs, as they come in and go out."""

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field, StrictInt, StrictStr

from sessions_app.reflections import MOST
from sessions_app.schemas import Asked, Given, ListQuery, Page

Engine = Literal["extractive", "llm"]


class ConsolidateQuery(Asked):
    wait: bool = False


class ConsolidationQuery(ListQuery):
    seq: Annotated[int, Field(ge=1, lt=2**63, description="Only the one that covers this entry.")] | None = (
        None
    )
    include_discarded: bool = False


class RedoIn(Given):
    engine: Engine | None = None


class PointOut(Schema):
    message_id: str
    seq: int
    label: str | None = Field(
        description="Who said it, or what it is; null for a line of an earlier summary."
    )
    text: str


class ConsolidationOut(Schema):
    id: str
    session_id: str
    from_seq: int
    through_seq: int
    trigger: Literal["budget", "idle", "reset", "asked"]
    engine: Engine
    model: str | None
    fell_back: str | None = Field(description="Why the engine that the agent asks for did not do it.")
    entries: int
    tokens_before: int
    tokens_after: int
    summary: str = Field(description="Of everything in the session up to `through_seq`.")
    points: list[PointOut]
    memory_version: int | None = Field(description="The version of the memory that it has made.")
    seconds: float
    created_at: datetime
    discarded_at: datetime | None
    discarded_by: str | None


class JobOut(Schema):
    state: Literal["queued", "running", "retrying"]
    trigger: Literal["budget", "idle", "reset", "asked"]
    queued_at: datetime
    attempts: int
    last_error: str | None
    next_attempt_at: datetime


class ConsolidateOut(Schema):
    state: Literal["queued", "running", "retrying", "done", "nothing"]
    trigger: str | None
    queued_at: datetime | None
    attempts: int
    last_error: str | None
    next_attempt_at: datetime | None
    consolidation: ConsolidationOut | None


class ConsolidationPage(Page[ConsolidationOut]):
    job: JobOut | None = Field(description="What waits to be condensed, or is being condensed.")


class MemoryIn(Given):
    content: StrictStr
    version: Annotated[StrictInt, Field(ge=0, lt=2**31, description="The version that the writer has read.")]


class MemoryOut(Schema):
    version: int
    content: str
    author: str | None
    updated_at: datetime | None


class RevisionOut(Schema):
    version: int
    author: str
    created_at: datetime


class RevisionWithDiffOut(MemoryOut):
    diff: str = Field(description="What this version changed, as a unified diff.")


class ReflectionIn(Given):
    limit: Annotated[StrictInt, Field(ge=1, le=MOST)] | None = Field(
        None, description="30 where no period is given, else all of the period."
    )
    since: StrictStr | None = Field(None, description="ISO 8601, or so long ago: 24h, 7d, 2w. Inclusive.")
    until: StrictStr | None = Field(None, description="The same; exclusive.")
    session_id: StrictStr | None = None


class ListedReflectionOut(Schema):
    id: str
    session_id: str | None
    trigger: Literal["asked", "daily"]
    since: datetime | None
    until: datetime | None
    entries: int
    delivery_id: str | None
    delivery_error: str | None
    seconds: float
    created_at: datetime


class ReflectionOut(ListedReflectionOut):
    markdown: str
    stats: dict[str, Any]


class RunOut(Schema):
    id: str
    name: str
    state: Literal["running", "done", "stopped"]
    total: int
    done: int
    failed: int
    last_error: str | None
    started_at: datetime
    updated_at: datetime
    finished_at: datetime | None
