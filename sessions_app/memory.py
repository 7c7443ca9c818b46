"""The long-term memory of an agent: one Markdown document, every version of it kept."""

import difflib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from sessions_app import paging
from sessions_app.access import Caller
from sessions_app.memory_notes import noted
from sessions_app.models import Agent, MemoryRevision, Session
from sessions_app.objects import iso
from sessions_app.problems import Conflict, NotFound, invalid

LONGEST = 64 * 1024
BY_MODEL = "llm"
BY_ERASURE = "erasure"


def of(agent_id: int) -> QuerySet[MemoryRevision]:
    return MemoryRevision.objects.filter(agent_id=agent_id)


def newest(agent_id: int) -> MemoryRevision | None:
    return of(agent_id).order_by("-version").first()


def text_of(agent_id: int) -> str:
    found = newest(agent_id)
    return "" if found is None else found.content


def read(caller: Caller) -> dict[str, Any]:
    return shown(newest(caller.agent_id))


def write(caller: Caller, content: str, version: int, author: str, now: datetime) -> dict[str, Any]:
    """Runs inside `commit`. Only on top of the version that the writer has read."""
    if len(content.encode()) > LONGEST:
        raise invalid(["body", "content"], f"It may be at most {LONGEST} bytes.", "too_long")
    _in_line(caller.agent_id)
    current = newest(caller.agent_id)
    found = 0 if current is None else current.version
    if version != found:
        raise Conflict(f"The memory is at version {found}, not {version}: read it and change it anew.")
    return shown(_add(caller.agent_id, current, content, author, now))


def restore(found: MemoryRevision, author: str, now: datetime) -> MemoryRevision:
    """Runs inside `commit`. An old text as a new version: none is ever taken away."""
    _in_line(found.agent_id)
    return _add(found.agent_id, newest(found.agent_id), found.content, author, now)


def note(
    agent_id: int, remember: Sequence[str], forget: Sequence[str], now: datetime
) -> MemoryRevision | None:
    """Runs inside `commit`. Put into whichever version is the newest then, so that no edit is ever lost."""
    if not remember and not forget:
        return None
    _in_line(agent_id)
    current = newest(agent_id)
    before = "" if current is None else current.content
    content = noted(before, remember, forget, LONGEST)
    return None if content == before.strip() else _add(agent_id, current, content, BY_MODEL, now)


def unlearn(session: Session, now: datetime) -> None:
    """Runs inside `commit`. What a model noted from this session goes from every version; what people wrote
    stays. A new version is made of it, so that nobody writes an old one back."""
    _in_line(session.agent_id)
    learned: set[str] = set()
    for made in of(session.agent_id).filter(consolidation__session_id=session.pk).distinct():
        before = (
            of(session.agent_id).filter(version=made.version - 1).values_list("content", flat=True).first()
        )
        learned |= {line for line in _notes(made.content) if line not in _notes(before or "")}
    if not learned:
        return
    last = newest(session.agent_id)
    for row in of(session.agent_id).order_by("version"):
        left = "\n".join(line for line in row.content.split("\n") if line not in learned)
        if left == row.content:
            continue
        if last is not None and row.pk == last.pk:
            _add(session.agent_id, last, left, BY_ERASURE, now)
        of(session.agent_id).filter(pk=row.pk).update(content=left)


def _notes(document: str) -> set[str]:
    return {line for line in document.split("\n") if line.startswith("- ")}


def listed(caller: Caller, *, cursor: str | None, limit: int) -> paging.Page:
    """Newest first, without their texts."""
    found = of(caller.agent_id)
    if cursor is not None:
        (version,) = paging.decode(cursor, paging.seq)
        found = found.filter(version__lt=version)
    rows = list(found.order_by("-version").defer("content")[: limit + 1])
    return paging.page(
        rows,
        limit,
        lambda rows: [_listed(row) for row in rows],
        lambda row: paging.encode(row.version),
    )


def revision(caller: Caller, version: int) -> dict[str, Any]:
    found = of(caller.agent_id).filter(version=version).first()
    if found is None:
        raise NotFound("There is no such version of the memory.")
    return {**shown(found), "diff": diff(found)}


def diff(found: MemoryRevision) -> str:
    """What this version changed, as a unified diff."""
    before = of(found.agent_id).filter(version=found.version - 1).first()
    old = "" if before is None else before.content
    lines = difflib.unified_diff(
        old.splitlines(),
        found.content.splitlines(),
        f"version {found.version - 1}",
        f"version {found.version}",
        lineterm="",
    )
    return "\n".join(lines)


def shown(found: MemoryRevision | None) -> dict[str, Any]:
    if found is None:
        return {"version": 0, "content": "", "author": None, "updated_at": None}
    return {
        "version": found.version,
        "content": found.content,
        "author": found.author,
        "updated_at": iso(found.created_at),
    }


def _listed(found: MemoryRevision) -> dict[str, Any]:
    return {"version": found.version, "author": found.author, "created_at": iso(found.created_at)}


def _in_line(agent_id: int) -> None:
    """Writers of one memory come one by one; new sessions of the agent need not wait for them."""
    Agent.objects.select_for_update(no_key=True).get(pk=agent_id)


def _add(
    agent_id: int, current: MemoryRevision | None, content: str, author: str, now: datetime
) -> MemoryRevision:
    if current is not None and current.content == content:
        return current
    version = 1 if current is None else current.version + 1
    return MemoryRevision.objects.create(
        agent_id=agent_id, version=version, content=content, author=author, created_at=now
    )
