from datetime import datetime
from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field, StrictStr

from sessions_app.schemas import Given, ListQuery

State = Literal["queued", "sending", "retrying", "delivered", "dead"]


class DeliveryIn(Given):
    target: Annotated[
        StrictStr,
        Field(
            min_length=1,
            max_length=1200,
            description="`origin`, `local`, `<platform>` or `<platform>:<chat_id>[:<thread_id>]`; "
            "a colon inside an id is written `%3A`.",
        ),
    ]
    content: StrictStr
    session_id: StrictStr | None = None


class DeliveryOut(Schema):
    id: str
    target: str
    platform: str
    chat_id: str | None
    thread_id: str | None
    session_id: str | None
    state: State
    attempts: int
    last_error: str | None
    next_attempt_at: datetime | None = Field(
        description="When it is sent next; while it is being sent, when it counts as lost."
    )
    created_at: datetime
    delivered_at: datetime | None


class DeliveryQuery(ListQuery):
    state: State | None = None
    platform: Annotated[str, Field(max_length=64)] | None = None
    session: str | None = None
