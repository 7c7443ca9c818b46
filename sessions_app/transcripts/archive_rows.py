"""Parts of the archive that are rows: out by their columns, and back where there is none yet."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import Model

from sessions_app.access import Caller
from sessions_app.models import Consolidation, MemoryRevision, Reflection, RetentionRule, Session
from sessions_app.transcripts import archive
from sessions_app.transcripts.archive import Part

MEMORY = ("version", "content", "author", "created_at")
RULE = ("platform", "chat_type", "kind", "days", "sessions", "bytes", "enabled", "created_at")
REFLECTION = (
    "uid", "trigger", "since", "until", "entries", "markdown", "stats", "delivery_error", "seconds",
    "created_at",
)  # fmt: skip
CONSOLIDATION = (
    "uid", "from_seq", "through_seq", "trigger", "engine", "model", "fell_back", "entries", "tokens_before",
    "tokens_after", "summary", "points", "seconds", "created_at", "discarded_at", "discarded_by",
)  # fmt: skip


def register() -> None:
    rule = ("platform", "chat_type", "kind")
    archive.register("memory", _of_agent(MemoryRevision, MEMORY, once=("version",)))
    archive.register("retention_rule", _of_agent(RetentionRule, RULE, once=rule))
    archive.register("reflection", Part(_reflections, _reflections_of, _load_reflection))
    archive.register("consolidation", Part(None, _consolidations, _load_consolidation))


def _of_agent(model: type[Model], columns: tuple[str, ...], once: tuple[str, ...]) -> Part:
    def dump(caller: Caller) -> Iterator[dict[str, Any]]:
        yield from _rows(model, columns, agent_id=caller.agent_id)

    def load(caller: Caller, given: dict[str, Any], session: Session | None, now: datetime) -> None:
        _store(model, _values(model, columns, given), once, agent_id=caller.agent_id)

    return Part(dump_agent=dump, load=load)


def _reflections(caller: Caller) -> Iterator[dict[str, Any]]:
    return _rows(Reflection, REFLECTION, agent_id=caller.agent_id, session=None)


def _reflections_of(session: Session) -> Iterator[dict[str, Any]]:
    return _rows(Reflection, REFLECTION, session=session)


def _load_reflection(caller: Caller, given: dict[str, Any], session: Session | None, now: datetime) -> None:
    """Without its delivery, which is not in an archive."""
    values = _values(Reflection, REFLECTION, given)
    _store(Reflection, values, ("created_at", "markdown"), agent_id=caller.agent_id, session=session)


def _consolidations(session: Session) -> Iterator[dict[str, Any]]:
    for row in _rows(Consolidation, (*CONSOLIDATION, "memory__version"), session=session):
        yield {**row, "memory": row.pop("memory__version")}


def _load_consolidation(
    caller: Caller, given: dict[str, Any], session: Session | None, now: datetime
) -> None:
    values = _values(Consolidation, CONSOLIDATION, given)
    known = MemoryRevision.objects.filter(agent_id=caller.agent_id, version=given["memory"] or 0)
    values["memory"] = known.first()
    once = ("from_seq", "created_at")
    _store(Consolidation, values, once, agent_id=caller.agent_id, session=session)


def _rows(model: type[Model], columns: tuple[str, ...], **where: Any) -> Iterator[dict[str, Any]]:
    rows: Any = model._default_manager.filter(**where).order_by("pk").values(*columns)
    yield from rows.iterator(100)


def _values(model: type[Model], columns: tuple[str, ...], given: dict[str, Any]) -> dict[str, Any]:
    """As the table has them, whatever JSON made of them."""
    return {name: model._meta.get_field(name).clean(given[name], None) for name in columns}  # type: ignore[union-attr]


def _store(model: type[Model], values: dict[str, Any], once: tuple[str, ...], **owner: Any) -> None:
    found: Any = model._default_manager
    if found.filter(**owner, **{name: values[name] for name in once}).exists():
        return
    if "uid" in values and found.filter(uid=values["uid"]).exists():
        # Another agent has it: what is that agent's stays so.
        del values["uid"]
    found.create(**owner, **values)
