"""What comes in from elsewhere, what may be kept, and the ledger of what went."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldBooleanSwitchWidget,
)

from sessions_app import imports, retention
from sessions_app.admin.cells import BAD, GOOD, NONE, WARN, tag, two_lines, when
from sessions_app.admin.lists import ONCE, LongList, ModelAdmin, ReadOnly
from sessions_app.admin.pages import Page
from sessions_app.models import Agent, Deletion, Import, ImportState, RetentionRule
from sessions_app.transcripts.formats import AUTO, FORMATS

KINDS = {ImportState.DONE: GOOD, ImportState.FAILED: BAD, ImportState.RUNNING: WARN}
# What a report counts, in the words of the page.
COUNTED = {
    "files_read": "Files", "files_failed": "Files that could not be read", "sessions": "Sessions",
    "stored": "Entries stored", "known": "Known already", "skipped": "Skipped", "repaired": "Repaired",
    "invocations": "Uses of skills",
}  # fmt: skip
FILES = 50
UNFINISHED = (ImportState.QUEUED, ImportState.RUNNING)


class ImportForm(forms.ModelForm):  # type: ignore[type-arg]
    agent = forms.ModelChoiceField(
        Agent.objects.all(), widget=UnfoldAdminSelectWidget, help_text="Whose record it becomes part of."
    )
    file = forms.FileField(
        widget=UnfoldAdminFileFieldWidget,
        help_text="A transcript, a database of another program, or a zip of many.",
    )
    format = forms.ChoiceField(
        choices=[(name, name) for name in FORMATS], initial=AUTO, widget=UnfoldAdminSelectWidget,
        help_text="auto looks at the file itself. Importing the same twice adds nothing.",
    )  # fmt: skip
    dry_run = forms.BooleanField(
        required=False, label="Only look", widget=UnfoldBooleanSwitchWidget,
        help_text="Read and report, and write nothing.",
    )  # fmt: skip

    class Meta:
        model = Import
        fields = ("agent", "file", "format", "dry_run")


@admin.register(Import)
class ImportAdmin(Page):
    list_display = ("named", "of_agent", "format", "stands", "progress", "begun", "ended")
    list_select_related = ("agent",)
    list_filter = ("state", "agent")
    form = ImportForm
    page_template = "console/import.html"
    add_says = "Import a file"
    empty_says = (
        "Nothing has been imported yet. Transcripts of other programs come in here, whole and only once."
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super(ReadOnly, self).has_add_permission(request)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("agent", "file", "format", "dry_run")

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        answer: HttpResponse = super().add_view(request, form_url, {**ONCE, **(extra_context or {})})
        return answer

    def response_add(self, request: HttpRequest, obj: Import, post_url_continue: Any = None) -> HttpResponse:
        """To its page, which shows how far it has come."""
        return redirect("admin:sessions_app_import_change", obj.pk)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        answer = super().change_view(request, object_id, form_url, extra_context)
        row = getattr(answer, "context_data", {}).get("row")
        if row is not None and row.state in UNFINISHED:
            # The page shows how far it has come by itself.
            answer.headers["Refresh"] = "2"
        return answer

    def told(self, request: HttpRequest, row: Import) -> dict[str, Any]:
        report = row.report
        return {
            "title": row.file_name,
            "kind": KINDS.get(ImportState(row.state), ""),
            "unfinished": row.state in UNFINISHED,
            "counts": [(title, report[name]) for name, title in COUNTED.items() if name in report],
            "files": report.get("files", [])[:FILES],
            "more_files": max(0, report.get("files_read", 0) - FILES),
        }

    def save_model(self, request: HttpRequest, obj: Import, form: Any, change: bool) -> None:
        given = form.cleaned_data
        made = imports.accept(
            given["agent"].pk, given["file"], given["format"], timezone.now(), dry_run=given["dry_run"]
        )
        obj.__dict__.update(made.__dict__)

    @admin.display(description="file")
    def named(self, row: Import) -> SafeString:
        return two_lines(row.file_name, "only looked at" if row.dry_run else filesizeformat(row.size))

    @admin.display(description="agent")
    def of_agent(self, row: Import) -> str:
        return row.agent.name

    @admin.display(description="state")
    def stands(self, row: Import) -> SafeString:
        return tag(row.state, KINDS.get(ImportState(row.state), ""))

    @admin.display(description="read")
    def progress(self, row: Import) -> SafeString:
        return format_html(
            '<progress class="db-progress" max="{}" value="{}" aria-label="Read"></progress>',
            max(row.size, 1), row.bytes_read,
        )  # fmt: skip

    @admin.display(description="begun")
    def begun(self, row: Import) -> SafeString | str:
        return when(row.created_at)

    @admin.display(description="finished")
    def ended(self, row: Import) -> SafeString | str:
        return when(row.finished_at)


class RuleForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = RetentionRule
        fields = ("agent", "platform", "chat_type", "kind", "days", "sessions", "bytes", "enabled")
        help_texts: ClassVar = {
            "platform": "Sessions of this platform alone; empty for all.",
            "chat_type": "dm, group, channel or thread; empty for all.",
            "kind": "With a kind, old entries of it are emptied and keep their place (by days alone). "
            "Without one, whole sessions are erased.",
            "days": "What was not used for longer than this goes.",
            "sessions": "At most so many are kept: ended ones go first, then those not used for longest.",
            "bytes": "At most so many bytes of entries are kept.",
            "enabled": "An enabled rule deletes every ten minutes, for good. Store it switched off and use "
            "“Say what selected rules would delete now” first.",
        }


@admin.register(RetentionRule)
class RetentionRuleAdmin(ModelAdmin):
    form = RuleForm
    list_display = ("named", "of_agent", "limits", "stands", "created")
    list_select_related = ("agent",)
    list_filter = ("enabled", "agent")
    actions = ("preview",)
    add_says = "Make a rule"
    empty_says = "Everything is kept for ever. A rule says what may go, by age, number or size."
    fieldsets = (
        ("Which sessions", {"fields": ("agent", "platform", "chat_type", "kind")}),
        ("What is kept", {"fields": ("days", "sessions", "bytes")}),
        (None, {"fields": ("enabled",)}),
    )

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"enabled": False, **super().get_changeform_initial_data(request)}

    @admin.action(description="Say what selected rules would delete now", permissions=["change"])
    def preview(self, request: HttpRequest, queryset: Any) -> HttpResponse:
        for rule in queryset:
            found = retention.preview(rule, timezone.now())
            self.message_user(
                request,
                f"{rule}: {found['sessions']} sessions, {found['messages']} messages, "
                f"{filesizeformat(found['bytes'])}",
                messages.INFO,
            )
        return HttpResponseRedirect(reverse("admin:sessions_app_retentionrule_changelist"))

    @admin.display(description="rule for")
    def named(self, rule: RetentionRule) -> SafeString:
        place = ", ".join(filter(None, (rule.platform, rule.chat_type))) or "all sessions"
        return two_lines(place, f"entries of kind {rule.kind} are emptied" if rule.kind else "")

    @admin.display(description="agent")
    def of_agent(self, rule: RetentionRule) -> str:
        return rule.agent.name

    @admin.display(description="keeps at most")
    def limits(self, rule: RetentionRule) -> str:
        size = None if rule.bytes is None else filesizeformat(rule.bytes)
        told = (
            rule.days and f"{rule.days} days",
            rule.sessions is not None and f"{rule.sessions} sessions",
            size,
        )
        return ", ".join(str(limit) for limit in told if limit)

    @admin.display(description="state")
    def stands(self, rule: RetentionRule) -> SafeString:
        return tag("deletes", WARN) if rule.enabled else tag("off")

    @admin.display(description="made")
    def created(self, rule: RetentionRule) -> SafeString | str:
        return when(rule.created_at)


@admin.register(Deletion)
class DeletionAdmin(ReadOnly, LongList):
    list_display = ("at", "of_agent", "reason", "by", "sessions", "messages", "size")
    list_display_links = None
    list_select_related = ("agent",)
    list_filter = ("reason", "agent")
    empty_says = "Nothing has been deleted. What goes by a rule or with a person is counted here, never told."

    @admin.display(description="when")
    def at(self, row: Deletion) -> SafeString | str:
        return when(row.created_at)

    @admin.display(description="agent")
    def of_agent(self, row: Deletion) -> str:
        return row.agent.name

    @admin.display(description="by rule")
    def by(self, row: Deletion) -> str:
        return row.rule or NONE

    @admin.display(description="size")
    def size(self, row: Deletion) -> str:
        return filesizeformat(row.bytes)
