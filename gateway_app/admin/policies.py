from functools import cache
from typing import Any, ClassVar
from zoneinfo import available_timezones

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminSelectWidget

from gateway_app import policies
from gateway_app.admin.acting import OfAgent, Refusing, acting_for
from gateway_app.models import ResetPolicy
from gateway_app.sources import CHAT_TYPES, BadSource, platform_slug
from sessions_app.admin.cells import two_lines
from sessions_app.models import Agent

ANY = ("", "any")
MODES = (
    ("both", "when it was idle for long, or each day at an hour"),
    ("all", "when it was idle for long and the hour has passed"),
    ("idle", "when it was idle for long"),
    ("daily", "each day at an hour"),
    ("none", "only when somebody asks for it"),
)


@cache
def zones() -> list[tuple[str, str]]:
    return [(name, name) for name in sorted(available_timezones())]


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]
    chat_type = forms.ChoiceField(
        required=False, choices=[ANY, *((name, name) for name in CHAT_TYPES)], widget=UnfoldAdminSelectWidget
    )
    mode = forms.ChoiceField(
        choices=MODES, initial="both", widget=UnfoldAdminSelectWidget, label="A session ends"
    )
    timezone = forms.ChoiceField(
        required=False, choices=lambda: [("", "the agent's"), *zones()], label="Time zone",
        widget=UnfoldAdminSelectWidget,
    )  # fmt: skip

    class Meta:
        labels: ClassVar = {"idle_minutes": "Minutes without a word", "at_hour": "Hour of the day"}
        help_texts: ClassVar = {
            "platform": "Such as telegram; empty for any. The most specific policy wins whole: platform and "
            "chat type together, then the platform, then the chat type, then the one for any.",
            "idle_minutes": "1440 is a day. What counts is what the user does.",
            "at_hour": "0 to 23, in the time zone below.",
        }

    def clean_platform(self) -> str:
        platform: str = self.cleaned_data["platform"].strip().lower()
        try:
            return platform and platform_slug(platform)
        except BadSource as error:
            raise ValidationError(str(error)) from None


@admin.register(ResetPolicy)
class ResetPolicyAdmin(OfAgent, Refusing):
    form = PolicyForm
    list_display = ("named", "of_agent", "ends")
    empty_says = "Sessions end by the default: after a day without a word, or at four in the morning."
    fieldsets = (
        ("Which sessions", {"fields": ("agent", "platform", "chat_type")}),
        ("When they end", {"fields": ("mode", "idle_minutes", "at_hour", "timezone")}),
    )
    list_select_related = ("agent",)
    list_filter = ("agent", "mode")
    search_fields = ("platform__exact",)
    search_help_text = "A whole platform."

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if obj is None else ("agent", "platform", "chat_type")

    def save_model(self, request: HttpRequest, obj: ResetPolicy, form: Any, change: bool) -> None:
        given = {name: getattr(obj, name) for name in policies.COPIED}
        obj.pk = policies.put(acting_for(obj.agent), given).pk

    def delete_model(self, request: HttpRequest, obj: ResetPolicy) -> None:
        policies.remove(acting_for(obj.agent), str(obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ResetPolicy]) -> None:
        agents = Agent.objects.in_bulk(queryset.values_list("agent_id", flat=True))
        for agent_id, pk in queryset.order_by("agent_id", "pk").values_list("agent_id", "pk"):
            policies.remove(acting_for(agents[agent_id]), str(pk))

    @admin.display(description="sessions of")
    def named(self, policy: ResetPolicy) -> SafeString:
        return two_lines(policy.platform or "any platform", policy.chat_type or "any chat type")

    @admin.display(description="agent")
    def of_agent(self, policy: ResetPolicy) -> str:
        return policy.agent.name

    @admin.display(description="they end")
    def ends(self, policy: ResetPolicy) -> SafeString:
        idle = f"{policy.idle_minutes} minutes without a word"
        hour = f"{policy.at_hour:02}:00 {policy.timezone or policy.agent.timezone}"
        told = {"idle": idle, "daily": hour, "both": f"{idle}, or {hour}", "all": f"{idle}, and {hour}"}
        return two_lines(dict(MODES)[policy.mode], told.get(policy.mode, ""))
