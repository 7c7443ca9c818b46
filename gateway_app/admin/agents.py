from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from gateway_app import agents
from gateway_app.admin.acting import Refusing, acting_for
from gateway_app.admin.policies import zones
from sessions_app.commits import commit
from sessions_app.models import Agent


class AgentForm(forms.ModelForm):  # type: ignore[type-arg]
    timezone = forms.ChoiceField(choices=zones, initial="UTC")


@admin.register(Agent)
class AgentAdmin(Refusing):
    form = AgentForm
    list_display = (
        "name", "timezone", "token_budget", "consolidate_after_minutes", "consolidation_engine",
        "reflection_hour", "reflection_target", "created_at",
    )  # fmt: skip
    search_fields = ("name",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """The name stands in the keys of its sessions."""
        return () if obj is None else ("name", "created_at")

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        if change:
            agents.change(acting_for(obj), {name: form.cleaned_data[name] for name in form.changed_data})
        else:
            commit(obj.save)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Everything that an agent ever recorded would go with one click."""
        return False
