from functools import cache
from typing import Any, ClassVar
from zoneinfo import available_timezones

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest

from gateway_app import policies
from gateway_app.admin.acting import OfAgent, Refusing, acting_for
from gateway_app.models import ResetPolicy
from gateway_app.sources import CHAT_TYPES, BadSource, platform_slug
from sessions_app.models import Agent

ANY = ("", "any")


@cache
def zones() -> list[tuple[str, str]]:
    return [(name, name) for name in sorted(available_timezones())]


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]
    chat_type = forms.ChoiceField(
        required=False,
        choices=[ANY, *((name, name) for name in CHAT_TYPES)],
        help_text="A policy for a platform and a chat type goes before one for the platform, that before one "
        "for the chat type, and that before the agent's. The first of them applies whole.",
    )
    timezone = forms.ChoiceField(
        required=False,
        choices=lambda: [("", "the agent's"), *zones()],
        help_text="Whose clock shows the hour.",
    )

    class Meta:
        help_texts: ClassVar = {
            "platform": "As it is called in sources. Empty: any.",
            "mode": "idle: after so long without a word of the user. daily: when the hour has come since. "
            "both: either is enough. all: only when both hold. none: never.",
            "at_hour": "0 to 23, by the local clock.",
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
    list_display = ("__str__", "agent", "mode", "idle_minutes", "at_hour", "timezone")
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
