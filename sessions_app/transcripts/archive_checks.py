"""What an archive says, looked at before it is believed: anybody may have written in it."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import orjson
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError
from pydantic import ValidationError as Misfit

from sessions_app import redaction
from sessions_app.entries import EXTRA_FIELDS, OWN_FIELDS, Entry, entry, is_plain
from sessions_app.models import Agent, Session
from sessions_app.problems import Problem
from sessions_app.tokens import estimate_message
from sessions_app.transcripts import archive
from sessions_app.transcripts.times import moment
from sessions_app.transfer_schemas import RedactionIn

# How a record that is not as we write it shows itself, here or in the capability that it belongs to.
WRONG = (
    ArithmeticError,
    AttributeError,
    DataError,
    IntegrityError,
    LookupError,
    Misfit,
    Problem,
    TypeError,
    ValidationError,
    ValueError,
)
FAR = datetime(9000, 1, 1, tzinfo=UTC)
_UTC = ZoneInfo("UTC")


def settings_of(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Of an agent, all of them or none."""
    found = {name: given[name] for name in archive.AGENT_COLUMNS if name in given}
    Agent(name=name, **found).full_clean(exclude={"name"}, validate_unique=False)
    if found.get("timezone", "UTC") not in available_timezones():
        raise ValueError("there is no such time zone")
    if stored := found.get("redaction"):
        asked = RedactionIn.model_validate(orjson.loads(stored))
        found["redaction"] = orjson.dumps(redaction.checked(asked.model_dump())).decode()
    return found


USED = {"calls", "input_tokens", "output_tokens", "cost_usd"}
# Of other kinds than a field can check, or looked at here.
UNCHECKED = {"agent", "previous", "forked_from", "source", "metadata", "usage_by_model"}


def columns_of(given: dict[str, Any]) -> dict[str, Any]:
    """Of a session, fitting into its table."""
    # An archive may have been written before sessions kept these.
    given = {"end_decision": None, "usage_by_model": None, **given}
    columns = {name: given[name] for name in archive.SESSION_COLUMNS}
    columns |= {name: moment(columns[name], _UTC) for name in archive.TIMES}
    if not isinstance(columns["metadata"], dict):
        raise TypeError("metadata that is no object")
    _check_source(columns["source"], columns["platform"])
    _check_usage(columns["usage_by_model"])
    Session(**columns).clean_fields(exclude=UNCHECKED)
    return columns


def _check_usage(by_model: Any) -> None:
    for used in (by_model or {}).values():
        if used.keys() != USED or not all(type(amount) in (int, float) for amount in used.values()):
            raise TypeError("usage of something else than numbers")


def _check_source(source: Any, platform: Any) -> None:
    if source is None:
        return
    if not isinstance(source, dict) or source.get("platform") != platform:
        raise TypeError("a source that is none")
    if not all(value is None or isinstance(value, str) for value in source.values()):
        raise TypeError("a source of something else than texts")


def entry_of(row: dict[str, Any]) -> tuple[int, Entry, str]:
    """Its seq, the entry as it was stored, and what hides it."""
    kind, body, extra, hidden_by = row["kind"], row["body"], row.get("extra") or {}, row["hidden_by"]
    at = moment(row["created_at"], _UTC)
    if at is None or at > FAR:
        raise ValueError("a message without a time")
    if not isinstance(hidden_by, str) or len(hidden_by) > 8:
        raise ValueError("hidden by nothing that is known")
    if body.keys() - set(OWN_FIELDS[kind]) or extra.keys() - {*EXTRA_FIELDS[kind], "metadata"}:
        raise ValueError("fields that no message has")
    # Only looked at: what is stored is what was stored.
    entry({**body, **extra, "kind": kind}, now=FAR, zone=_UTC, any_size=True)
    is_message = kind == "message"
    stored = Entry(
        kind,
        body["role"] if is_message else "",
        orjson.dumps(body).decode(),
        orjson.dumps(extra).decode() if extra else None,
        is_message and is_plain(body, extra),
        estimate_message(body, extra.get("media", ())) if is_message else 0,
        at,
    )
    return row["seq"], stored, hidden_by
