"""Uses of skills in an archive: out, and back with their ids. Counts and vectors are made anew."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from sessions_app.access import Caller
from sessions_app.models import Session
from sessions_app.transcripts.archive import Part
from skills_app.models import SkillInvocation
from skills_app.tracking import Use, restore

COLUMNS = (
    "uid", "skill_name", "workflow_path", "workflow_phase", "user_query", "alternatives_considered",
    "follow_up_actions", "selection_rank", "state", "error_type", "invoked_at", "finished_at", "duration_us",
    "import_key",
)  # fmt: skip
LISTS = ("alternatives_considered", "follow_up_actions")


def _dump_agent(caller: Caller) -> Iterator[dict[str, Any]]:
    return _rows(agent_id=caller.agent_id, session=None)


def _dump_session(session: Session) -> Iterator[dict[str, Any]]:
    return _rows(session=session)


def _rows(**where: Any) -> Iterator[dict[str, Any]]:
    found = SkillInvocation.objects.filter(**where).order_by("pk").values(*COLUMNS)
    yield from found.iterator(100)


def _load(caller: Caller, given: dict[str, Any], session: Session | None, now: datetime) -> None:
    fields: Any = SkillInvocation._meta.get_field
    values = {name: fields(name).clean(given[name], None) for name in COLUMNS}
    uid: UUID = values.pop("uid")
    lists = {name: orjson.loads(values.pop(name)) for name in LISTS}
    if not all(isinstance(label, str) for labels in lists.values() for label in labels):
        raise TypeError("labels that are no texts")
    known = SkillInvocation.objects.filter(agent_id=caller.agent_id)
    if known.filter(uid=uid).exists():
        return
    if SkillInvocation.objects.filter(uid=uid).exists():
        # Another agent has it: known by it, and with an id of its own.
        values["import_key"] = values["import_key"] or f"archive:{uid}"
    restore(
        caller,
        uid,
        Use(
            session_pk=None if session is None else session.pk,
            alternatives=lists["alternatives_considered"],
            follow_up_actions=lists["follow_up_actions"],
            **values,
        ),
    )


PART = Part(_dump_agent, _dump_session, _load)
