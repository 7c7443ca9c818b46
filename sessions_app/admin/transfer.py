from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from sessions_app import imports, retention
from sessions_app.admin.lists import LongList, ModelAdmin, ReadOnly
from sessions_app.models import Agent, Deletion, Import, RetentionRule
from sessions_app.transcripts.formats import AUTO, FORMATS


class ImportForm(forms.ModelForm):  # type: ignore[type-arg]
    agent = forms.ModelChoiceField(Agent.objects.all())
    file = forms.FileField(help_text="A transcript, or a zip of many.")
    format = forms.ChoiceField(choices=[(name, name) for name in FORMATS], initial=AUTO)
    dry_run = forms.BooleanField(required=False, help_text="Read and report, and write nothing.")

    class Meta:
        model = Import
        fields = ("agent", "file", "format", "dry_run")


@admin.register(Import)
class ImportAdmin(LongList):
    list_display = (
        "file_name",
        "agent",
        "format",
        "state",
        "size",
        "bytes_read",
        "created_at",
        "finished_at",
    )
    list_select_related = ("agent",)
    form = ImportForm

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        shown = ("state", "error", "report", "file_name", "size", "bytes_read", "created_at", "finished_at")
        return (
            ("agent", "file", "format", "dry_run") if obj is None else ("agent", "format", "dry_run", *shown)
        )

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Import, form: Any, change: bool) -> None:
        given = form.cleaned_data
        made = imports.accept(
            given["agent"].pk, given["file"], given["format"], timezone.now(), dry_run=given["dry_run"]
        )
        obj.__dict__.update(made.__dict__)


@admin.register(RetentionRule)
class RetentionRuleAdmin(ModelAdmin):
    list_display = ("__str__", "agent", "enabled", "created_at")
    list_select_related = ("agent",)
    list_filter = ("enabled", "agent")
    actions = ("preview",)

    @admin.action(description="Say what selected rules would delete now", permissions=["change"])
    def preview(self, request: HttpRequest, queryset: Any) -> HttpResponse:
        for rule in queryset:
            found = retention.preview(rule, timezone.now())
            self.message_user(
                request,
                f"{rule}: {found['sessions']} sessions, {found['messages']} messages, {found['bytes']} bytes",
                messages.INFO,
            )
        return HttpResponseRedirect(reverse("admin:sessions_app_retentionrule_changelist"))


@admin.register(Deletion)
class DeletionAdmin(ReadOnly, LongList):
    list_display = ("created_at", "agent", "reason", "rule", "sessions", "messages", "bytes")
    list_select_related = ("agent",)
