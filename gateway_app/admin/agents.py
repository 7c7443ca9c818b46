"""Agents: their hours, budgets and reports, and what of their record is made unreadable where."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldBooleanSwitchWidget

from gateway_app import agents
from gateway_app.admin.acting import Refusing, acting_for, as_form_error
from gateway_app.admin.policies import zones
from sessions_app import redaction
from sessions_app.admin.cells import tag, when
from sessions_app.commits import commit
from sessions_app.models import Agent
from sessions_app.problems import Invalid
from sessions_app.redaction_rules import PATTERN_NAME

# What a switch of the form sets: its name there, its words, and what it means.
SWITCHES = (
    ("builtin", "Keys and passwords", "Keys of providers, tokens, private keys, passwords in addresses."),
    ("email", "Mail addresses", ""),
    ("phone", "Telephone numbers", ""),
    ("display", "On these pages", "Transcripts, hits, reports and summaries as operators see them."),
    ("export", "In exports", "Archives stay whole: they are made to go back in."),
    ("storage", "Before it is stored", "For good: what is made unreadable is never known here."),
    ("window", "For the model", "In the window that the agent reads."),
)
RULES = [name for name, _, _ in SWITCHES] + ["patterns"]


def _switch(label: str, help_text: str) -> forms.BooleanField:
    return forms.BooleanField(
        required=False, label=label, help_text=help_text, widget=UnfoldBooleanSwitchWidget
    )


class AgentForm(forms.ModelForm):  # type: ignore[type-arg]
    timezone = forms.ChoiceField(
        choices=zones, initial="UTC", label="Time zone", widget=UnfoldAdminSelectWidget,
        help_text="Hours of policies and reports, and times without an offset, are meant in it.",
    )  # fmt: skip
    builtin, email, phone, display, export, storage, window = (
        _switch(label, help_text) for _, label, help_text in SWITCHES
    )
    patterns = forms.CharField(
        required=False, label="Patterns of your own", widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}),
        help_text="One a line: a name, a colon, a regular expression, as in booking: BK-[0-9]{6}",
    )  # fmt: skip

    class Meta:
        labels: ClassVar = {
            "token_budget": "Tokens a session may hold",
            "consolidate_after_minutes": "Condense after minutes without a word",
            "consolidation_engine": "Engine",
            "reflection_enabled": "Write one a day",
            "reflection_hour": "At the hour",
            "reflection_target": "Deliver it to",
        }
        help_texts: ClassVar = {
            "name": "Letters, digits, dot, underscore and hyphen. It stands in the keys of its sessions and "
            "cannot be changed.",
            "token_budget": "When more of a session is not condensed, half of it is.",
            "consolidate_after_minutes": "A session that is quiet for so long is condensed to its last turn.",
            "consolidation_engine": "extractive chooses sentences and stays on this machine; llm sends what "
            "was said to the server of DAYBOOK_LLM_URL.",
            "reflection_hour": "0 to 23, in the time zone of the agent.",
            "reflection_target": "local, a platform, or platform:chat. Empty: it is only kept.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rules = redaction.shown(self.instance.redaction)
        for name in RULES:
            if name in self.fields:
                self.fields[name].initial = _lines(rules["patterns"]) if name == "patterns" else rules[name]

    def clean_patterns(self) -> list[dict[str, str]]:
        return list(_parsed(self.cleaned_data["patterns"]))

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if given.keys() >= set(RULES):
            try:
                redaction.checked(self.rules())
            except Invalid as refused:
                raise as_form_error(refused) from None
        return given

    def rules(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in RULES}


def _lines(patterns: list[dict[str, str]]) -> str:
    return "\n".join(f"{own['name']}: {own['pattern']}" for own in patterns)


def _parsed(text: str) -> Iterator[dict[str, str]]:
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, pattern = (part.strip() for part in line.partition(":"))
        if not (colon and pattern and PATTERN_NAME.match(name)):
            raise ValidationError(f"Each line is a name of small letters, a colon and a pattern, not: {line}")
        yield {"name": name, "pattern": pattern}


@admin.register(Agent)
class AgentAdmin(Refusing):
    form = AgentForm
    list_display = ("name", "timezone", "condensing", "reports", "unreadable", "created")
    search_fields = ("name",)
    search_help_text = "A part of a name."

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        named = ("name", "timezone") if obj is None else ("name", "timezone", "created_at")
        plain = (
            (None, {"fields": named}),
            ("Condensing", {
                "fields": ("token_budget", "consolidate_after_minutes", "consolidation_engine"),
            }),
            ("Reports on itself", {
                "fields": ("reflection_enabled", "reflection_hour", "reflection_target"),
            }),
        )  # fmt: skip
        if obj is not None and not self.has_change_permission(request, obj):
            return plain
        return (
            *plain,
            ("What is made unreadable", {"fields": ("builtin", "email", "phone", "patterns")}),
            ("Where it is made unreadable", {"fields": ("display", "export", "storage", "window")}),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """The name stands in the keys of its sessions."""
        return () if obj is None else ("name", "created_at")

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        if change:
            changed = {name: form.cleaned_data[name] for name in form.changed_data if name not in RULES}
            agents.change(acting_for(obj), changed)
        else:
            commit(obj.save)
        if set(RULES) & set(form.changed_data):
            redaction.change(acting_for(obj), form.rules())

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Everything that an agent ever recorded would go with one click."""
        return False

    @admin.display(description="condenses")
    def condensing(self, agent: Agent) -> str:
        return f"{agent.consolidation_engine}, after {agent.consolidate_after_minutes} min"

    @admin.display(description="reports")
    def reports(self, agent: Agent) -> SafeString | str:
        if not agent.reflection_enabled:
            return tag("off")
        where = f" to {agent.reflection_target}" if agent.reflection_target else ""
        return f"daily at {agent.reflection_hour:02}:00{where}"

    @admin.display(description="makes unreadable")
    def unreadable(self, agent: Agent) -> str:
        rules = redaction.shown(agent.redaction)
        names = [label.lower() for name, label, _ in SWITCHES[:3] if rules[name]]
        return ", ".join([*names, *(own["name"] for own in rules["patterns"])]) or "nothing"

    @admin.display(description="made")
    def created(self, agent: Agent) -> SafeString | str:
        return when(agent.created_at)
