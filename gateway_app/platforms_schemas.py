from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field, StrictBool, StrictStr

from gateway_app.schemas import Id
from sessions_app.schemas import Given


class HomeChannelIn(Given):
    chat_id: Annotated[Id, Field(min_length=1)]
    name: Annotated[StrictStr, Field(max_length=512)] | None = None
    thread_id: Id | None = None


class PlatformIn(Given):
    """The connection whole: what is left out has its default again."""

    enabled: StrictBool = True
    home_channel: HomeChannelIn | None = None
    webhook_url: Annotated[StrictStr, Field(max_length=2048)] | None = None
    dm_scope: Literal["chat", "owner"] = Field(
        "chat", description="owner: all DMs on the platform share one session."
    )
    group_scope: Literal["chat", "user"] = Field(
        "chat", description="user: each user of a room has a session of their own, except in threads."
    )
    rotate_secret: StrictBool = Field(False, description="Make a new secret and answer it, once.")

    def values(self) -> dict[str, Any]:
        home = self.home_channel
        return {
            "enabled": self.enabled,
            "home_chat_id": home.chat_id if home else "",
            "home_name": (home and home.name) or "",
            "home_thread_id": (home and home.thread_id) or "",
            "webhook_url": self.webhook_url or "",
            "dm_scope": self.dm_scope,
            "group_scope": self.group_scope,
        }


class HomeChannelOut(Schema):
    chat_id: str
    name: str | None
    thread_id: str | None


class PlatformOut(Schema):
    platform: str
    enabled: bool
    connected: bool = Field(description="Enabled, and with a webhook.")
    home_channel: HomeChannelOut | None
    webhook_url: str | None
    dm_scope: Literal["chat", "owner"]
    group_scope: Literal["chat", "user"]
    created_at: datetime
    updated_at: datetime


class PlatformSetUp(PlatformOut):
    webhook_secret: str | None = Field(
        description="Where it was just made; never shown again. Base64 behind `whsec_`."
    )
