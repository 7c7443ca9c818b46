"""What an import read, stored and passed over: for each file, and in all."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

PLACES = 20
FILES = 500
COUNTED = ("sessions", "read", "stored", "known", "skipped", "repaired", "invocations")


@dataclass(slots=True)
class FileReport:
    name: str
    format: str = ""
    error: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, dict[str, Any]] = field(default_factory=dict)

    def note(self, what: str, reason: str, line: int) -> None:
        """How often, and the first places: a file of a million bad lines has one line here."""
        self.counts[what] += 1
        found = self.reasons.setdefault(reason, {"what": what, "reason": reason, "count": 0, "lines": []})
        found["count"] += 1
        if len(found["lines"]) < PLACES:
            found["lines"].append(line)

    def shown(self) -> dict[str, Any]:
        counts = {name: self.counts[name] for name in COUNTED}
        return {
            "file": self.name,
            "format": self.format or None,
            "error": self.error or None,
            **counts,
            "reasons": list(self.reasons.values()),
        }


@dataclass(slots=True)
class Report:
    dry_run: bool = False
    files: list[FileReport] = field(default_factory=list)
    total: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    count: int = 0

    def add(self, file: FileReport) -> None:
        self.count += 1
        self.total.update(file.counts)
        self.failed += bool(file.error)
        # Those that went well and had nothing to tell make room first.
        if len(self.files) < FILES or file.error or file.reasons:
            self.files = self.files[-(FILES * 2) :]
            self.files.append(file)

    def shown(self) -> dict[str, Any]:
        return {
            "dry_run": self.dry_run,
            "files_read": self.count,
            "files_failed": self.failed,
            **{name: self.total[name] for name in COUNTED},
            "files": [file.shown() for file in self.files[:FILES]],
        }
