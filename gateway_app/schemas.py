from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, StrictStr, WithJsonSchema

from gateway_app.sources import ID_LENGTH, PLATFORM, ChatType, Source, id_text, platform_slug
from sessions_app.schemas import Given

ID_SCHEMA: dict[str, Any] = {"anyOf": [{"type": "string", "maxLength": ID_LENGTH}, {"type": "integer"}]}
SLUG_SCHEMA: dict[str, Any] = {"type": "string", "pattern": "^" + PLATFORM.pattern.replace(r"\Z", "$")}

# An integer is taken as its decimal text.
Id = Annotated[str, BeforeValidator(id_text), WithJsonSchema(ID_SCHEMA)]
# Cut where it is shown, kept as it came.
Name = Annotated[StrictStr, Field(max_length=65_536)]
PlatformName = Annotated[StrictStr, AfterValidator(platform_slug), WithJsonSchema(SLUG_SCHEMA)]


class SourceIn(Given):
    platform: PlatformName
    chat_id: Id | None = None
    chat_name: Name | None = None
    chat_type: ChatType = "dm"
    user_id: Id | None = None
    user_name: Name | None = None
    thread_id: Id | None = None

    def source(self) -> Source:
        return Source(**self.dict())


class AgentOut(Schema):
    name: str
    timezone: str
    token_budget: int
    consolidate_after_minutes: int
    consolidation_engine: Literal["extractive", "llm"]
    reflection_enabled: bool
    reflection_hour: int
    reflection_target: str | None
    next_reflection_at: datetime | None = Field(description="Worked out within a minute of a change.")
    created_at: datetime


class AgentChange(Given):
    timezone: (
        Annotated[StrictStr, Field(max_length=64, description="A name of the IANA data base.")] | None
    ) = None
    token_budget: Annotated[StrictInt, Field(ge=1, le=100_000_000)] | None = None
    consolidate_after_minutes: Annotated[StrictInt, Field(ge=1, le=10_000_000)] | None = None
    consolidation_engine: Literal["extractive", "llm"] | None = None
    reflection_enabled: StrictBool | None = None
    reflection_hour: Annotated[StrictInt, Field(ge=0, le=23, description="Local.")] | None = None
    reflection_target: (
        Annotated[StrictStr, Field(max_length=1200, description="As in a delivery; empty: not delivered.")]
        | None
    ) = None
