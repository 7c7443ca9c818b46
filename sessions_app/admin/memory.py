"""What agents remember: the document, its versions, and what each of them changed."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from sessions_app import memory
from sessions_app.admin.cells import GOOD, spaced, tag, two_lines, when
from sessions_app.admin.markdown import MOST_ALONE, rendered
from sessions_app.admin.pages import Page
from sessions_app.commits import commit
from sessions_app.models import MemoryRevision
from sessions_app.redaction import displayed

SHOWN = 30
# Lines that stay around what was changed.
AROUND = 3


@admin.register(MemoryRevision)
class MemoryRevisionAdmin(Page):
    list_display = ("named", "stands", "author", "written", "characters")
    list_select_related = ("agent",)
    list_filter = ("agent", "author")
    actions = ("make_current",)
    page_template = "console/memory.html"
    deeds: ClassVar = {"make_current": "Make this the current version again"}

    def get_queryset(self, request: HttpRequest) -> QuerySet[MemoryRevision]:
        newer = MemoryRevision.objects.filter(agent=OuterRef("agent"), version__gt=OuterRef("version"))
        found: QuerySet[MemoryRevision] = super().get_queryset(request)
        return found.annotate(is_old=Exists(newer), length=Length("content")).select_related("agent")

    def fitting(self, row: Any) -> set[str]:
        return set(self.deeds) if row.is_old else set()

    def told(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        versions = memory.of(row.agent_id)
        against = _asked(request.GET.get("against", ""), row)
        before, shown = versions.filter(version=against).first(), displayed(row.agent)
        lines = list(changed("" if before is None else shown(before.content), shown(row.content)))
        return {
            "title": f"What {row.agent.name} remembers",
            "document": rendered(shown(row.content), most=MOST_ALONE),
            "against": against,
            "lines": lines,
            "added": sum(kind == "added" for kind, _ in lines),
            "removed": sum(kind == "removed" for kind, _ in lines),
            "versions": versions.defer("content").order_by("-version")[:SHOWN],
        }

    @admin.action(description="Make this version the current one again", permissions=["change"])
    def make_current(self, request: HttpRequest, queryset: QuerySet[MemoryRevision]) -> None:
        now, by = timezone.now(), request.user.get_username()
        for found in queryset.order_by("pk"):
            made = commit(lambda found=found: memory.restore(found, by, now))  # type: ignore[misc]
            self.log_change(request, found, f"Made current again, as version {made.version}.")
            self.message_user(
                request, f"Version {found.version} is current again, as version {made.version}."
            )

    @admin.display(description="version")
    def named(self, found: MemoryRevision) -> SafeString:
        return two_lines(f"{found.agent.name}, version {found.version}")

    @admin.display(description="state")
    def stands(self, found: Any) -> SafeString | str:
        return tag("older") if found.is_old else tag("current", GOOD)

    @admin.display(description="written")
    def written(self, found: MemoryRevision) -> SafeString | str:
        return when(found.created_at)

    @admin.display(description="characters")
    def characters(self, found: Any) -> str:
        return spaced(found.length)


def _asked(text: str, row: MemoryRevision) -> int:
    """The version that it is compared with: the one before, unless another is asked for."""
    known = text.isascii() and text.isdigit() and len(text) < 9
    return int(text) if known and int(text) != row.version else row.version - 1


def changed(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Line by line: what was added, removed or kept, and where unchanged lines were left out."""
    before, after = old.splitlines(), new.splitlines()
    for stretch in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(AROUND):
        if stretch[0][1]:
            yield "skipped", ""
        for kind, start, end, new_start, new_end in stretch:
            if kind == "equal":
                yield from (("kept", line) for line in before[start:end])
                continue
            yield from (("removed", line) for line in before[start:end])
            yield from (("added", line) for line in after[new_start:new_end])
