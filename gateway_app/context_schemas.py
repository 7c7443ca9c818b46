from datetime import datetime
from typing import Any

from ninja import Schema
from pydantic import Field

from gateway_app.platforms_schemas import HomeChannelOut
from sessions_app.schemas import SessionOut


class PreviousOut(Schema):
    id: str
    ended_at: datetime | None
    end_reason: str | None
    summary: str | None


class ContextOut(Schema):
    source: dict[str, Any] | None = Field(description="As it came: names in it are as strangers chose them.")
    connected_platforms: list[str] = Field(description="Those that are enabled and have a webhook.")
    home_channels: dict[str, HomeChannelOut] = Field(description="Of connected platforms, by platform.")
    session: SessionOut
    previous: PreviousOut | None
    notice: str | None = Field(
        description="After a policy's reset, until the session's first assistant message."
    )
    prompt: str = Field(description="A Markdown section for the system prompt; the notice is in it.")
