"""From what a caller sends to a use of a skill: times read, empty texts for what was not given."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sessions_app import sessions
from sessions_app.access import Caller
from sessions_app.entries import EPOCH, FUTURE
from sessions_app.problems import Invalid, NotFound, invalid
from sessions_app.sessions import parse_uid
from skills_app.schemas import ImportedIn, InvocationIn
from skills_app.tracking import Use, import_key_of


def use(data: InvocationIn, caller: Caller, now: datetime, loc: Sequence[str | int] = ("body",)) -> Use:
    return Use(
        skill_name=data.skill_name,
        invoked_at=now if data.invoked_at is None else _moment(data.invoked_at, caller, now, loc),
        workflow_path=data.workflow_path or "",
        workflow_phase=data.workflow_phase or "",
        user_query=data.user_query or "",
        alternatives=data.alternatives_considered or (),
        selection_rank=data.selection_rank,
    )


def finished_uses(items: Sequence[ImportedIn], caller: Caller, now: datetime) -> list[Use]:
    known = _sessions(items, caller)
    return [
        _finished(item, caller, now, known, ("body", "invocations", place))
        for place, item in enumerate(items)
    ]


def _finished(
    item: ImportedIn, caller: Caller, now: datetime, known: dict[str, int], loc: tuple[str | int, ...]
) -> Use:
    begun = use(item, caller, now, loc)
    duration = microseconds(item.duration_seconds)
    return begun._replace(
        session_pk=None if item.session_id is None else known[item.session_id],
        state=_state(item, loc),
        finished_at=begun.invoked_at + timedelta(microseconds=duration or 0),
        duration_us=duration,
        follow_up_actions=item.follow_up_actions or (),
        error_type=item.error_type or "",
        import_key=import_key_of(
            begun.skill_name, begun.invoked_at, item.session_id or item.source_session or ""
        ),
    )


def _state(item: ImportedIn, loc: Sequence[str | int]) -> str:
    if item.state is None and item.completed is None:
        raise invalid([*loc, "completed"], "Give `completed` or `state`.", "missing")
    state = item.state or ("completed" if item.completed else "failed")
    if item.completed is not None and item.completed is not (state == "completed"):
        raise invalid([*loc, "completed"], "It says another thing than `state`.", "value_error")
    return state


def _sessions(items: Sequence[ImportedIn], caller: Caller) -> dict[str, int]:
    wanted = {item.session_id: parse_uid(item.session_id) for item in items if item.session_id is not None}
    found: dict[UUID, int] = dict(
        sessions.of(caller).filter(uid__in=set(wanted.values())).values_list("uid", "pk")
    )
    if any(uid not in found for uid in wanted.values()):
        raise NotFound("There is no such session.")
    return {text: found[uid] for text, uid in wanted.items()}


def microseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1_000_000)


def _moment(text: str, caller: Caller, now: datetime, loc: Sequence[str | int]) -> datetime:
    try:
        value = datetime.fromisoformat(text)
        value = (value if value.tzinfo else value.replace(tzinfo=caller.zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _wrong(loc, "It must be a time in ISO 8601.", "datetime_parsing") from None
    if value > now + FUTURE:
        raise _wrong(loc, "It is more than 5 minutes in the future.", "value_error")
    if value < EPOCH:
        raise _wrong(loc, "It is before 1970.", "value_error")
    return value


def _wrong(loc: Sequence[str | int], msg: str, kind: str) -> Invalid:
    return invalid([*loc, "invoked_at"], msg, kind)
