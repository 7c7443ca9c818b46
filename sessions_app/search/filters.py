"""Which messages a search is about, beside what it asks for. Pure."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Filters:
    """`sessions` None: all of them. Sessions are known by their inner numbers."""

    role: str | None = None
    kind: str | None = None
    platform: str | None = None
    tool: str | None = None
    sessions: frozenset[int] | None = None
    since: datetime | None = None
    until: datetime | None = None
    exclude_platforms: frozenset[str] = frozenset()
    exclude_sessions: frozenset[int] = frozenset()
    include_hidden: bool = False

    @property
    def needed(self) -> list[list[str]]:
        """Terms of the index: of each list one."""
        exact = {"role": self.role, "kind": self.kind, "platform": self.platform, "tool": self.tool}
        found = [[f"f{name}={value}"] for name, value in exact.items() if value is not None]
        if self.sessions is not None:
            found.append([f"s{session}" for session in sorted(self.sessions)])
        return found

    @property
    def refused(self) -> list[str]:
        platforms = [f"fplatform={platform}" for platform in sorted(self.exclude_platforms)]
        return [*platforms, *(f"s{session}" for session in sorted(self.exclude_sessions))]
