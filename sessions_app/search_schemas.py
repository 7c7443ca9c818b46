"""What a search is asked with and what it answers."""

from datetime import datetime
from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field

from sessions_app.paging import MOST
from sessions_app.schemas import ListedMessageOut, ListQuery, MessageOut, Page
from sessions_app.search.query import MOST_CHARACTERS

Typed = Annotated[str, Field(max_length=MOST_CHARACTERS, description="Whatever is typed is a valid query.")]
Period = Annotated[str, Field(max_length=64)]
Names = Annotated[list[str], Field(max_length=64)]


class SearchQuery(ListQuery):
    q: Typed
    mode: Literal["text", "substring", "semantic", "hybrid"] = "text"
    sort: Literal["newest", "rank"] | None = Field(
        None, description="By default newest; rank for semantic and hybrid, which have no other order."
    )
    role: Literal["user", "assistant", "system", "tool"] | None = None
    kind: Literal["message", "tool_call", "error", "decision"] | None = None
    session: str | None = Field(None, description="The id of a session.")
    key: str | None = Field(None, description="Only sessions of this key.")
    platform: str | None = None
    tool: str | None = Field(None, description="Only calls of this tool, and its results.")
    since: Period | None = Field(None, description="ISO 8601, or how long ago: 24h, 7d, 2w. Inclusive.")
    until: Period | None = Field(None, description="The same, exclusive.")
    exclude_platform: Names = Field(default_factory=list, description="May be given several times.")
    exclude_session: Names = Field(default_factory=list, description="Ids; may be given several times.")
    include_hidden: bool = Field(False, description="Also what clear, retain and rewind have hidden.")
    context: Annotated[int, Field(ge=0, le=10)] = Field(
        0, description="So many messages before and after each hit."
    )


class HistoryLinesQuery(ListQuery):
    q: Typed
    role: Literal["user", "assistant", "system", "tool"] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST)] = 10


class NeighbourOut(MessageOut):
    truncated: bool


class HitOut(ListedMessageOut):
    snippet: str = Field(
        description="Around the first place that was found, which stands between >>> and <<<."
    )
    score: float | None = Field(description="Null where the order is by time.")
    before: list[NeighbourOut] | None
    after: list[NeighbourOut] | None


class Searched(Schema):
    messages: int
    first_at: datetime | None
    last_at: datetime | None


class SearchOut(Page[HitOut]):
    mode: str
    sort: str
    ranked_among: int | None = Field(
        description="By rank: the order was made among so many of the newest that were found."
    )
    searched: Searched | None = Field(description="Where nothing was found: how much was looked at.")
    notes: list[str] = Field(
        description="What the answer lacks, in words; for instance vectors that are not made yet."
    )
