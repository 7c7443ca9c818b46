"""What tells of a person outside of the record: logs, kept answers, names of files, home channels."""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model, Q

from gateway_app.models import Platform
from sessions_app.models import Agent, IdempotentAnswer, Import
from sessions_app.transcripts.formats.nanobot import key_of_stem

ERASED = "[erased]"
# Whether a text is an id of the person on a platform.
IsNamed = Callable[[str, Any], bool]


def forget_log(model: type[Model], pks: Sequence[int]) -> None:
    """That an operator did something stays; to whom, and what, goes."""
    kind = ContentType.objects.get_for_model(model)
    found = LogEntry.objects.filter(content_type=kind, object_id__in=[str(pk) for pk in pks])
    found.update(object_repr=ERASED, change_message="")


def forget_answers(agent_id: int, ids: Sequence[str]) -> None:
    """Answers that belong to no session and name the person: of deliveries, of uploads."""
    wanted = Q(pk__in=[])
    for one in ids:
        wanted |= (
            Q(answer__contains=f'"{one}"') | Q(answer__contains=f':{one}"') | Q(answer__contains=f":{one}:")
        )
    IdempotentAnswer.objects.filter(wanted, path__startswith=f"{agent_id}/", session=None).delete()


def forget_channels(agent_id: int, known: Sequence[tuple[str, str]], is_named: IsNamed) -> None:
    """Where the agent would go on writing to them."""
    for row in Platform.objects.filter(agent_id=agent_id, platform__in={platform for platform, _ in known}):
        if row.home_chat_id and is_named(row.platform, row.home_chat_id):
            row.home_chat_id = row.home_name = row.home_thread_id = ""
            row.save(update_fields=["home_chat_id", "home_name", "home_thread_id"])
    agent = Agent.objects.get(pk=agent_id)
    platform, _, rest = agent.reflection_target.partition(":")
    if rest and is_named(platform.lower(), rest.partition(":")[0]):
        Agent.objects.filter(pk=agent_id).update(reflection_target="")


def forget_imports(agent_id: int, is_named: IsNamed, platforms: Sequence[str]) -> None:
    """Programs name files after those who wrote in them."""
    for row in Import.objects.filter(agent_id=agent_id).only("file_name", "report", "error"):
        name = _nameless(row.file_name, is_named, platforms)
        report = row.report
        for file in report.get("files") or ():
            file["file"] = _nameless(file["file"], is_named, platforms)
        if isinstance(report.get("so_far"), dict):
            report["so_far"]["file"] = _nameless(report["so_far"]["file"], is_named, platforms)
        Import.objects.filter(pk=row.pk).update(file_name=name, report=report)


def _nameless(name: str, is_named: IsNamed, platforms: Sequence[str]) -> str:
    place = PurePosixPath(name)
    parts = [
        part for piece in place.parts for part in (piece, *re.split(r"[_.:\s]", PurePosixPath(piece).stem))
    ]
    parts.append(key_of_stem(place.stem).partition(":")[2])
    if any(is_named(platform, part) for platform in platforms for part in parts if part):
        return f"{ERASED}{place.suffix}"
    return name
