"""From what an agent sends to what is stored, and back: the shape of one entry of the record."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple
from zoneinfo import ZoneInfo

import orjson
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictStr,
    ValidationError,
)

from sessions_app.problems import FieldError, Invalid
from sessions_app.tokens import estimate_message

TEXT_BYTES = 1024 * 1024
METADATA_BYTES = 64 * 1024
BATCH = 1000
FUTURE = timedelta(minutes=5)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

ROLES = ("user", "assistant", "system", "tool")
# What OpenAI takes as the name of who speaks.
PROVIDER_NAME = re.compile(r"[^\s<|\\/>]{1,64}")
PROVIDER_FIELDS = ("role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content")
OWN_FIELDS: dict[str, tuple[str, ...]] = {
    "message": PROVIDER_FIELDS,
    "tool_call": ("tool", "args", "result"),
    "error": ("error", "context"),
    "decision": ("decision", "rationale"),
}
EXTRA_FIELDS: dict[str, tuple[str, ...]] = {
    "message": ("confidence", "media", "proactive"),
    "tool_call": (),
    "error": (),
    "decision": (),
}
ANSWERED = (
    "id", "seq", "kind", "role", "content", "confidence", "tool", "args", "result", "error", "context",
    "decision", "rationale", "tool_calls", "tool_call_id", "name", "reasoning_content", "media", "metadata",
    "proactive", "created_at", "hidden",
)  # fmt: skip

Text = StrictStr
Name = Annotated[StrictStr, Field(max_length=512)]


class ToolFunction(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: Annotated[StrictStr, Field(min_length=1, max_length=512)]
    arguments: StrictStr | dict[str, Any] | None = None


class ToolCall(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: Annotated[StrictStr, Field(min_length=1, max_length=512)]
    type: StrictStr = "function"
    function: ToolFunction


class Block(BaseModel):
    model_config = ConfigDict(extra="allow")

    type: Annotated[StrictStr, Field(min_length=1, max_length=64)]


class MessageIn(BaseModel):
    """What can be appended. Fields that are not named here are kept in `metadata`."""

    model_config = ConfigDict(extra="allow")

    kind: Literal["message", "tool_call", "error", "decision"] = "message"
    role: Literal["user", "assistant", "system", "tool"] | None = None
    content: Text | list[Block] | None = None
    confidence: Annotated[StrictFloat, Field(ge=0, le=1)] | None = None
    tool: Annotated[StrictStr, Field(min_length=1, max_length=512)] | None = None
    args: Any = None
    result: Any = None
    error: Text | None = None
    context: Text | None = None
    decision: Text | None = None
    rationale: Text | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: Annotated[StrictStr, Field(min_length=1, max_length=512)] | None = None
    name: Name | None = None
    reasoning_content: Text | None = None
    media: (
        Annotated[list[Annotated[StrictStr, Field(min_length=1, max_length=8192)]], Field(max_length=100)]
        | None
    ) = None
    metadata: dict[str, Any] | None = None
    proactive: StrictBool | None = None
    created_at: StrictStr | None = Field(
        None, description="ISO 8601; without an offset it is read in the agent's time zone."
    )


KNOWN = frozenset(MessageIn.model_fields)


class Entry(NamedTuple):
    """One entry as it is stored, still without its place in a session."""

    kind: str
    role: str
    body: str
    extra: str | None
    plain: bool
    tokens: int
    created_at: datetime


def entry(
    given: Any,
    *,
    now: datetime,
    zone: ZoneInfo,
    loc: tuple[str | int, ...] = ("body",),
    any_size: bool = False,
) -> Entry:
    """Check one message as it was sent; raises Invalid with every place that is wrong.

    `any_size` is for what is imported: it was never a request, and nothing of it may be lost."""
    if not isinstance(given, dict):
        raise Invalid([_wrong((*loc,), "A message is an object.", "dict_type")])
    try:
        MessageIn.model_validate(given)
    except ValidationError as error:
        raise Invalid(field_errors(error, loc)) from None
    given = {name: value for name, value in given.items() if value is not None}
    created_at, wrong = _created_at(given.get("created_at"), now, zone)
    oversized = [] if any_size else _oversized(given)
    if errors := [*_misfits(given), *oversized, *wrong]:
        raise Invalid([_wrong((*loc, *place), msg, kind) for place, msg, kind in errors])
    return _stored(given, created_at, loc, any_size=any_size)


def field_errors(error: ValidationError, loc: tuple[str | int, ...]) -> list[FieldError]:
    return [
        _wrong(
            (*loc, *(part for part in found["loc"] if part not in _UNION_ARMS)), found["msg"], found["type"]
        )
        for found in error.errors(include_url=False, include_context=False, include_input=False)
    ]


# How the checker names the arms of a union in the place of an error: of no use to the caller.
_UNION_ARMS = frozenset({"str", "list[Block]", "dict[str,any]"})

Misfit = tuple[tuple[str | int, ...], str, str]


def _misfits(given: dict[str, Any]) -> list[Misfit]:
    kind = given.get("kind", "message")
    if kind != "message":
        required = OWN_FIELDS[kind][0]
        return [] if required in given else [((required,), f"A {kind} needs it.", "missing")]
    role = given.get("role")
    if role is None:
        return [(("role",), f"A message needs one of {', '.join(ROLES)}.", "missing")]
    found: list[Misfit] = []
    if role == "tool" and "tool_call_id" not in given:
        found.append((("tool_call_id",), "A tool's result names the call it answers.", "missing"))
    if role != "tool" and "tool_call_id" in given:
        found.append((("tool_call_id",), "Only role tool answers a call.", "value_error"))
    if role != "assistant" and "tool_calls" in given:
        found.append((("tool_calls",), "Only role assistant calls tools.", "value_error"))
    if role != "assistant" and given.get("proactive"):
        found.append((("proactive",), "Only role assistant delivers unasked.", "value_error"))
    if "content" not in given and not given.get("tool_calls") and not given.get("media"):
        found.append((("content",), "A message needs content, tool_calls or media.", "missing"))
    return found


def _oversized(given: dict[str, Any]) -> list[Misfit]:
    found: list[Misfit] = []
    for name, value in given.items():
        if name in KNOWN and name != "metadata" and _size(value) > TEXT_BYTES:
            found.append(((name,), f"It may be at most {TEXT_BYTES} bytes.", "too_long"))
    return found


def _size(value: Any) -> int:
    if isinstance(value, str):
        # Most texts are short enough whatever their script: four bytes a character is the most there is.
        return len(value) if len(value) * 4 <= TEXT_BYTES else len(value.encode())
    if isinstance(value, list | dict):
        return len(orjson.dumps(value))
    return 0


def _created_at(given: str | None, now: datetime, zone: ZoneInfo) -> tuple[datetime, list[Misfit]]:
    if given is None:
        return now, []
    try:
        value = datetime.fromisoformat(given)
        value = (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return now, [(("created_at",), "It must be a time in ISO 8601.", "datetime_parsing")]
    if value > now + FUTURE:
        return now, [(("created_at",), "It is more than 5 minutes in the future.", "value_error")]
    if value < EPOCH:
        return now, [(("created_at",), "It is before 1970.", "value_error")]
    return value, []


def _stored(
    given: dict[str, Any], created_at: datetime, loc: tuple[str | int, ...], *, any_size: bool
) -> Entry:
    kind = given.get("kind", "message")
    own, extras = OWN_FIELDS[kind], EXTRA_FIELDS[kind]
    body = {name: given[name] for name in own if name in given}
    extra = {name: given[name] for name in extras if given.get(name)} if len(given) > len(body) else {}
    if kind == "message":
        body.setdefault("content", None)
        if not body.get("tool_calls", True):
            del body["tool_calls"]
    if metadata := _metadata(given, (*own, *extras), loc):
        if not any_size and len(orjson.dumps(metadata)) > METADATA_BYTES:
            raise Invalid(
                [_wrong((*loc, "metadata"), f"It may be at most {METADATA_BYTES} bytes of JSON.", "too_long")]
            )
        extra["metadata"] = metadata
    if given.get("confidence") is not None and "confidence" in extras:
        extra["confidence"] = given["confidence"]
    plain = kind == "message" and is_plain(body, extra)
    return Entry(
        kind,
        body.get("role", "") if kind == "message" else "",
        orjson.dumps(body).decode(),
        orjson.dumps(extra).decode() if extra else None,
        plain,
        estimate_message(body, extra.get("media", ())) if kind == "message" else 0,
        created_at,
    )


def is_plain(body: dict[str, Any], extra: dict[str, Any]) -> bool:
    """Whether a provider can be sent `body` as it is, whatever stands around it."""
    return (
        body["role"] != "tool"
        and isinstance(body["content"], str)
        and "tool_calls" not in body
        and ("name" not in body or PROVIDER_NAME.fullmatch(body["name"]) is not None)
        and "media" not in extra
        and "proactive" not in extra
    )


def _metadata(given: dict[str, Any], used: tuple[str, ...], loc: tuple[str | int, ...]) -> dict[str, Any]:
    metadata: dict[str, Any] = dict(given.get("metadata") or {})
    for name, value in given.items():
        if name in used or name in ("kind", "metadata", "created_at"):
            continue
        if name in metadata:
            raise Invalid([_wrong((*loc, name), "It stands in metadata too.", "value_error")])
        metadata[name] = value
    return metadata


def _wrong(loc: tuple[str | int, ...], msg: str, kind: str) -> FieldError:
    return {"loc": list(loc), "msg": msg, "type": kind}
