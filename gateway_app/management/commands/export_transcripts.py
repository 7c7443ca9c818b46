import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gateway_app.admin.acting import acting_for
from sessions_app.access import Caller
from sessions_app.models import Agent, Session
from sessions_app.sessions import of
from sessions_app.transcripts import exporting
from sessions_app.transcripts.reading import sessions_of
from sessions_app.transcripts.times import moment


class Command(BaseCommand):
    help = "Export sessions: an archive that import_transcripts reads back, or a folder with a file for each."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=exporting.FORMATS)
        parser.add_argument(
            "output",
            type=Path,
            help="The file of an archive or of one session, else a folder; - is standard output.",
        )
        parser.add_argument("--agent", default="main")
        parser.add_argument("--session", type=UUID, help="One session alone, by its id.")
        parser.add_argument("--since", help="A time in ISO 8601: sessions that went on after it.")
        parser.add_argument("--until", help="A time in ISO 8601: sessions that began before it.")
        parser.add_argument("--platform")
        redact = parser.add_mutually_exclusive_group()
        redact.add_argument("--redact", action="store_true", default=None, help="Also in an archive.")
        redact.add_argument("--no-redact", dest="redact", action="store_false")
        parser.add_argument("--include-hidden", action="store_true", help="Also what was rewound or cleared.")

    def handle(self, *args: Any, **options: Any) -> None:
        agent = Agent.objects.filter(name=options["agent"]).first()
        if agent is None:
            raise CommandError(f"There is no agent {options['agent']}.")
        now = timezone.now()
        caller = acting_for(agent, now)
        count = self._export(caller, options, now)
        if str(options["output"]) != "-":
            self.stdout.write(f"{count} sessions exported")

    def _export(self, caller: Caller, options: dict[str, Any], now: datetime) -> int:
        form, output = options["format"], options["output"]
        shown = {"redact": options["redact"], "include_hidden": options["include_hidden"]}
        if options["session"] is not None:
            session = of(caller).filter(uid=options["session"]).first()
            if session is None:
                raise CommandError("There is no such session.")
            _put(output, exporting.one(caller, session, form, now, **shown))
            return 1
        counted = _Counted(_chosen(caller, options))
        if form == exporting.ARCHIVE or str(output) == "-":
            whole = not (options["since"] or options["until"] or options["platform"])
            _put(output, exporting.many(caller, counted, form, now, whole=whole, **shown))
        else:
            output.mkdir(parents=True, exist_ok=True)
            for session in counted:
                place = output / exporting.file_name(session, form)
                _put(place, exporting.one(caller, session, form, now, **shown))
        return counted.count


class _Counted:
    def __init__(self, sessions: Iterator[Session]) -> None:
        self._sessions = sessions
        self.count = 0

    def __iter__(self) -> Iterator[Session]:
        for session in self._sessions:
            self.count += 1
            yield session


def _chosen(caller: Caller, options: dict[str, Any]) -> Iterator[Session]:
    times = {}
    for name in ("since", "until"):
        times[name] = moment(options[name], caller.zone) if options[name] else None
        if options[name] and times[name] is None:
            raise CommandError(f"--{name} must be a time in ISO 8601.")
    return sessions_of(caller, **times, platform=options["platform"])


def _put(output: Path, pieces: Iterator[bytes]) -> None:
    """Whole or not at all: what was cut off is never taken for an export."""
    if str(output) == "-":
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        return
    part = output.with_name(f".{output.name}.part")
    with part.open("wb") as stream:
        for piece in pieces:
            stream.write(piece)
    part.replace(output)
