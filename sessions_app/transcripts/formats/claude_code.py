"""Claude Code: an append-only tree of lines. One message of the model is several of them."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import orjson

from sessions_app.transcripts.formats.claude_messages import (
    Group,
    Made,
    difference,
    envelope,
    of_user,
    plain_text,
)
from sessions_app.transcripts.formats.claude_tree import BOUNDARY, visible_lines
from sessions_app.transcripts.lines import json_lines
from sessions_app.transcripts.records import (
    Condensed,
    File,
    Head,
    Record,
    Records,
    Repaired,
    Retitled,
    Said,
    Skipped,
    Usage,
)
from sessions_app.transcripts.times import moment

NAME = "claude-code"
SAID = ("user", "assistant")
TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
SIDE_LINES = 100_000
# Messages of the model whose usage is known: their lines are never far apart.
REMEMBERED = 1_000


def read(file: File) -> Records:
    transcript = _Transcript(file)
    with file.open() as stream:
        for line in json_lines(stream):
            if line.problem:
                yield (
                    Repaired(line.number, line.problem) if line.value else Skipped(line.number, line.problem)
                )
            if isinstance(line.value, dict):
                yield from transcript.take(line.value, line.number)
            elif line.value is not None:
                yield Skipped(line.number, "not an object")
    yield from transcript.flush()


class _Transcript:
    def __init__(self, file: File) -> None:
        self._file = file
        self._visible = visible_lines(file)
        self._begun: set[str] = set()
        self._side_of: dict[str, str] = {}
        self._groups: dict[str, Group] = {}
        self._main: str | None = None
        self._used: dict[tuple[str, Any], Usage] = {}

    def take(self, line: dict[str, Any], number: int) -> Records:
        kind = line.get("type")
        if kind in TITLES:
            title = line.get(TITLES[kind])
            if isinstance(title, str) and self._main and self._main in self._begun:
                yield Retitled(self._main, title[:512])
        elif kind in SAID and isinstance(line.get("message"), dict) and isinstance(line.get("uuid"), str):
            yield from self._conversation(line, number)
        elif kind == "system" and line.get("subtype") == BOUNDARY:
            ref = self._ref(line)
            yield from self._begin(ref, line)
            yield from self._flush(ref)
        elif kind == "system" and line.get("subtype") == "api_error" and isinstance(line.get("uuid"), str):
            yield from self._failure(line, number)
        else:
            yield Skipped(number, f"a line of type {str(kind)[:40]}")

    def _failure(self, line: dict[str, Any], number: int) -> Records:
        """A call of the model that failed: told beside the conversation, and no part of it."""
        ref = self._ref(line)
        yield from self._begin(ref, line)
        yield from self._flush(ref)
        given = line.get("error") or line.get("content") or "api_error"
        text = given if isinstance(given, str) else orjson.dumps(given).decode()
        fields = {"kind": "error", "error": text, "context": "API", "metadata": envelope(line)}
        yield from self._told(ref, [Made(line, number, fields)], hidden="")

    def flush(self) -> Records:
        for ref in list(self._groups):
            yield from self._flush(ref, unfinished=True)

    def _conversation(self, line: dict[str, Any], number: int) -> Records:
        ref = self._ref(line)
        yield from self._begin(ref, line)
        group = self._groups.get(ref)
        if group is not None and group.takes(line):
            group.add(line, number)
            return
        yield from self._flush(ref)
        if line["type"] == "assistant":
            self._groups[ref] = Group(line, number)
        elif line.get("isCompactSummary"):
            text = plain_text(line["message"].get("content"))
            if self._shown(ref, number):
                yield Condensed(ref, f"condensed {line['uuid']}", text)
            yield from self._told(ref, of_user(line, number), hidden="compact")
        else:
            yield from self._told(ref, of_user(line, number))

    def _flush(self, ref: str, *, unfinished: bool = False) -> Records:
        group = self._groups.pop(ref, None)
        if group is None:
            return
        shown = any(self._shown(ref, number) for number in group.numbers)
        message = group.message()
        message.usage = self._grown(ref, group.id, message.usage)
        said = self._said(ref, message, "" if shown else "rewind")
        said.pieces, said.unfinished = len(group.numbers), unfinished
        said.rest = partial(self._rest, ref, group, said)
        yield said
        for line, number in group.results:
            yield from self._told(ref, of_user(line, number), hidden="" if shown else "rewind")

    def _rest(self, ref: str, group: Group, whole: Said, known: int) -> Said:
        """When the first lines of a message were stored before the others were written."""
        message = group.behind(known).message()
        message.uuid = f"{whole.as_far_as(known)}-{whole.pieces}"
        before = group.usage(known)
        if message.usage is not None and before is not None:
            message.usage = difference(message.usage, before)
        said = self._said(ref, message, whole.hidden_by)
        said.pieces, said.unfinished = whole.pieces, whole.unfinished
        return said

    def _grown(self, ref: str, message_id: Any, usage: Usage | None) -> Usage | None:
        """A message whose lines were parted by something else is counted by what it has grown."""
        if usage is None or message_id is None:
            return usage
        before = self._used.get((ref, message_id), Usage())
        if len(self._used) >= REMEMBERED:
            self._used.clear()
        self._used[ref, message_id] = usage
        return difference(usage, before)

    def _told(self, ref: str, said: list[Made], hidden: str | None = None) -> Iterator[Record]:
        for message in said:
            by = hidden
            if by is None:
                by = "" if self._shown(ref, message.number) else "rewind"
            yield self._said(ref, message, by)

    def _said(self, ref: str, message: Made, hidden_by: str) -> Said:
        fields = message.fields
        if at := moment(message.at, self._file.zone):
            fields["created_at"] = at.isoformat()
        return Said(ref, message.uuid, fields, message.number, hidden_by, message.usage, anywhere=True)

    def _shown(self, ref: str, number: int) -> bool:
        return ref != self._main or self._visible(number)

    def _ref(self, line: dict[str, Any]) -> str:
        """The file is one session, whatever ids its copied lines carry; side chains stand beside it."""
        own = str(line.get("sessionId") or self._file.stem)
        if self._main is None and not line.get("isSidechain"):
            stem = self._file.stem
            self._main = stem if len(stem) == 36 else own
        if not line.get("isSidechain"):
            return self._main or own
        return f"{own}/{line.get('agentId') or self._side(line)}"

    def _side(self, line: dict[str, Any]) -> str:
        uuid, parent = str(line.get("uuid")), str(line.get("parentUuid"))
        root = self._side_of.get(parent, uuid)
        if len(self._side_of) >= SIDE_LINES:
            self._side_of.clear()
        self._side_of[uuid] = root
        return root

    def _begin(self, ref: str, line: dict[str, Any]) -> Iterator[Record]:
        if ref in self._begun:
            return
        self._begun.add(ref)
        kept = ("cwd", "version", "gitBranch", "slug", "userType", "agentId", "isSidechain", "forkedFrom")
        metadata = {name: line[name] for name in kept if line.get(name) is not None}
        main, _, side = ref.partition("/")
        forked = line.get("forkedFrom")
        parent = main if side else str(forked.get("sessionId") or "") if isinstance(forked, dict) else ""
        cwd = line.get("cwd")
        title = cwd.rstrip("/").rpartition("/")[2] if isinstance(cwd, str) else ""
        key = f"claude-code:{main}" + (f":side={side}" if side else "")
        yield Head(ref, key, title, metadata, created_at=line.get("timestamp"), fork_ref=parent, raw=metadata)
