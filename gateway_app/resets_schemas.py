from datetime import datetime
from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field, StrictBool, StrictInt, StrictStr

from gateway_app.leases import LONGEST_SECONDS
from gateway_app.reset_rules import DEFAULT_HOUR, DEFAULT_IDLE_MINUTES
from gateway_app.schemas import PlatformName, SourceIn
from gateway_app.sources import ChatType
from sessions_app.schemas import Given, SessionOut

Mode = Literal["none", "idle", "daily", "both", "all"]


class Resolve(Given):
    source: SourceIn
    force_new: StrictBool = Field(False, description="End the open session, whatever the policies say.")
    touch: StrictBool = Field(
        True,
        description="False for a system's event: it keeps no session alive and leaves a known source alone.",
    )


class ResolvedOut(Schema):
    session: SessionOut
    created: bool
    was_auto_reset: bool = Field(description="Told once: by the first answer after a policy's reset.")
    reset_reason: str | None
    previous_id: str | None


class PolicyIn(Given):
    platform: PlatformName | None = Field(None, description="Null: any.")
    chat_type: ChatType | None = Field(None, description="Null: any.")
    mode: Mode
    idle_minutes: Annotated[StrictInt, Field(ge=1, le=5_256_000)] = DEFAULT_IDLE_MINUTES
    at_hour: Annotated[StrictInt, Field(ge=0, le=23)] = DEFAULT_HOUR
    timezone: Annotated[StrictStr, Field(max_length=64)] | None = Field(
        None, description="Null: the agent's."
    )


class PolicyOut(Schema):
    id: int
    platform: str | None
    chat_type: str | None
    mode: Mode
    idle_minutes: int
    at_hour: int
    timezone: str | None


class AppliedPolicy(Schema):
    origin: Literal["platform and chat type", "platform", "chat type", "agent", "built-in"]
    mode: Mode
    idle_minutes: int
    at_hour: int
    timezone: str


class DecisionOut(Schema):
    policy: AppliedPolicy | None = Field(
        description="The one that applies, or that ended the session; null: no policy ends the session."
    )
    last_activity_at: datetime
    reset: bool = Field(description="Whether the next resolve or sweep ends the session.")
    reason: str | None
    reasons: list[str] = Field(
        description="All that hold, even if a lease stands in their way; or that held when a policy ended it."
    )
    blocked_by: list[str]
    next_reset_at: datetime | None
    ended_at: datetime | None
    end_reason: str | None


class LeaseIn(Given):
    ttl_seconds: Annotated[StrictInt, Field(ge=1, le=LONGEST_SECONDS)]


class LeaseOut(Schema):
    name: str
    created_at: datetime
    renewed_at: datetime
    expires_at: datetime
