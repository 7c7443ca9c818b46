import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gateway_app.admin.acting import acting_for
from gateway_app.keys import BadKeyRequest, agent_named
from sessions_app.models import Agent
from sessions_app.transcripts.formats import FORMATS
from sessions_app.transcripts.importing import import_path
from sessions_app.transcripts.records import File
from sessions_app.transcripts.report import FileReport, Report


class Command(BaseCommand):
    help = "Import transcripts of other programs, or an archive of Daybook. Again adds only what is new."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=FORMATS, help="auto finds the format of each file by itself.")
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="A file, a zip or a folder.")
        parser.add_argument(
            "--agent", default="main", help="Whose sessions they become; made if there is none."
        )
        parser.add_argument("--dry-run", action="store_true", help="Read and report, and write nothing.")
        parser.add_argument("--json", action="store_true", help="The report as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        if missing := [path for path in options["paths"] if not path.exists()]:
            raise CommandError(f"There is no {missing[0]}.")
        now = timezone.now()
        caller = acting_for(_agent(options["agent"], dry_run=options["dry_run"]), now)
        report = Report(options["dry_run"])
        for path in options["paths"]:
            import_path(
                caller,
                options["format"],
                path,
                now,
                dry_run=options["dry_run"],
                report=report,
                progress=self._progress,
            )
        if options["json"]:
            self.stdout.write(orjson.dumps(report.shown(), option=orjson.OPT_INDENT_2).decode())
        else:
            self._tell(report)
        if report.failed:
            raise CommandError(f"{report.failed} of {report.count} files could not be read whole.")

    def _progress(self, file: File, told: FileReport) -> None:
        if sys.stderr.isatty():
            self.stderr.write(f"\r{file.name}: {told.counts['read']} messages", ending="")

    def _tell(self, report: Report) -> None:
        for file in report.files:
            found = file.counts
            self.stdout.write(
                f"{file.name} ({file.format or 'unknown'}): {found['read']} read, {found['stored']} stored, "
                f"{found['known']} known, {found['skipped']} skipped"
                + (f"; {file.error}" if file.error else "")
            )
            for reason in file.reasons.values():
                lines = ", ".join(map(str, reason["lines"]))
                self.stdout.write(f"  {reason['what']} {reason['count']}: {reason['reason']} (line {lines})")
        total = report.total
        stored = "would be stored" if report.dry_run else "stored"
        self.stdout.write(
            f"{report.count} files, {total['sessions']} new sessions, {total['stored']} messages {stored}, "
            f"{total['known']} known before, {total['skipped']} skipped"
        )


def _agent(name: str, *, dry_run: bool) -> Agent:
    try:
        if dry_run:
            return Agent.objects.filter(name=name).first() or Agent(pk=0, name=name)
        return agent_named(name)
    except BadKeyRequest as error:
        raise CommandError(str(error)) from None
