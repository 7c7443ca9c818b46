"""What comes in and what goes out, as the OpenAPI document describes it."""

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from ninja import Schema
from pydantic import ConfigDict, Field, StrictFloat, StrictInt, StrictStr, ValidationInfo, model_validator

from sessions_app.entries import BATCH, MessageIn
from sessions_app.paging import LIMIT, MOST
from sessions_app.problems import FieldError, Invalid

Item = TypeVar("Item")

Key = Annotated[StrictStr, Field(min_length=1, max_length=512)]
Title = Annotated[StrictStr, Field(max_length=512)]
Seq = Annotated[StrictInt, Field(ge=1, lt=2**63)]
Count = Annotated[StrictInt, Field(ge=0, lt=2**40)]


class Given(Schema):
    """A body: a name that is not known is a mistake, not something to pass over."""

    model_config = ConfigDict(extra="forbid")


class SessionIn(Given):
    key: Key
    title: Title | None = None
    metadata: dict[str, Any] | None = None


class SessionChange(Given):
    title: Title | None = None
    metadata: dict[str, Any] | None = Field(None, description="Merged, not deep; null removes a name.")


class Usage(Given):
    input_tokens: Count = 0
    output_tokens: Count = 0
    model: Annotated[StrictStr, Field(max_length=512)] | None = None
    cost_usd: Annotated[StrictFloat, Field(ge=0, le=1e9)] | None = None


class Retain(Given):
    max_messages: Annotated[StrictInt, Field(ge=0, le=100_000)]


class Rewind(Given):
    to_seq: Seq


class Fork(Given):
    before_seq: Seq | None = None
    key: Key | None = None


class Batch(Given):
    messages: Annotated[list[MessageIn], Field(min_length=1, max_length=BATCH)]


class Asked(Schema):
    """A query: as with bodies, a name that is not known is a mistake."""

    @model_validator(mode="after")
    def refuse_unknown(self, info: ValidationInfo) -> Self:
        given = info.context["request"].GET if info.context else ()
        if unknown := sorted(set(given) - set(type(self).model_fields)):
            raise Invalid([_unknown(name) for name in unknown])
        return self


def _unknown(name: str) -> FieldError:
    return {"loc": ["query", name], "msg": "There is no such parameter here.", "type": "extra_forbidden"}


class ListQuery(Asked):
    limit: Annotated[int, Field(ge=1, le=MOST)] = LIMIT
    cursor: str | None = None


class SessionQuery(ListQuery):
    key: str | None = None
    platform: str | None = None
    chat_type: str | None = None
    open: bool | None = None
    active_minutes: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    q: Annotated[str, Field(max_length=512)] | None = None


class MessageQuery(ListQuery):
    kind: Literal["message", "tool_call", "error", "decision"] | None = None
    role: Literal["user", "assistant", "system", "tool"] | None = None
    after: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    before: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    order: Literal["asc", "desc"] = "asc"
    include_hidden: bool = False


class EventQuery(Asked):
    include_hidden: bool = False


class RecentQuery(ListQuery):
    include_hidden: bool = False


class HistoryQuery(Asked):
    max_messages: Annotated[int, Field(ge=1, le=10_000)] = 500
    max_tokens: Annotated[int, Field(ge=1, lt=2**40)] | None = None
    timestamps: bool = False
    format: Literal["openai", "anthropic", "raw"] = "openai"

    def asked(self) -> dict[str, Any]:
        return {
            "max_messages": self.max_messages,
            "max_tokens": self.max_tokens,
            "form": self.format,
            "timestamps": self.timestamps,
        }


class Counts(Schema):
    entries: int
    messages: int
    tool_calls: int
    errors: int
    decisions: int


class Tokens(Schema):
    input: int
    output: int
    total: int


class SessionOut(Schema):
    id: str
    agent: str
    key: str
    title: str | None
    platform: str | None
    chat_type: str | None
    source: dict[str, Any] | None
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    end_reason: str | None
    previous_id: str | None
    forked_from_id: str | None
    metadata: dict[str, Any]
    counts: Counts
    tokens: Tokens
    cost_usd: float
    consolidated_through: int
    last_activity_at: datetime
    next_reset_at: datetime | None
    reset_blocked_by: list[str]
    was_auto_reset: bool
    reset_reason: str | None


class OpenedSession(SessionOut):
    created: bool


class MessageOut(Schema):
    id: str
    seq: int
    kind: Literal["message", "tool_call", "error", "decision"]
    role: str | None
    content: str | list[dict[str, Any]] | None
    confidence: float | None
    tool: str | None
    args: Any
    result: Any
    error: str | None
    context: str | None
    decision: str | None
    rationale: str | None
    tool_calls: list[dict[str, Any]] | None
    tool_call_id: str | None
    name: str | None
    reasoning_content: str | None
    media: list[str] | None
    metadata: dict[str, Any] | None
    proactive: bool | None
    created_at: datetime
    hidden: bool


class PlacedMessageOut(MessageOut):
    session_id: str
    session_key: str


class OneMessageOut(PlacedMessageOut):
    consolidation_id: str | None = Field(description="Of the consolidation that covers it.")


class ListedMessageOut(PlacedMessageOut):
    truncated: bool = Field(description="Whether `result` is cut to its first 500 characters.")


class Page(Schema, Generic[Item]):
    items: list[Item]
    next_cursor: str | None


class AppendedItem(Schema):
    id: str
    seq: int


class Appended(Schema):
    items: list[AppendedItem]
    session: SessionOut


class LeftOut(Schema):
    orphan_results: list[int] = Field(description="Seqs of tool results whose call is not in the window.")
    repeated_results: list[int] = Field(description="Seqs of further results for a call that has one.")
    stand_ins: int = Field(description="Calls whose result never came and that got one saying so.")


class WindowOut(Schema):
    messages: list[dict[str, Any]]
    summary: str | None
    system: str | None = Field(
        None, description="Only in the form anthropic: the system texts of the window."
    )
    tokens: int
    from_seq: int | None
    to_seq: int | None
    left_out: LeftOut


class ModelUsage(Schema):
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float


class Summary(Counts):
    tokens: Tokens
    first_at: datetime | None
    last_at: datetime | None
    cost_usd: float
    by_model: dict[str, ModelUsage]


class FieldErrorOut(Schema):
    loc: list[str | int]
    msg: str
    type: str


class ProblemOut(Schema):
    """RFC 9457, application/problem+json."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldErrorOut] | None = None
    request_id: str | None = Field(None, description="Where the failure is ours: look for it in the log.")
