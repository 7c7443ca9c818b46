"""An operator's change is the same change that comes over the API: made by the same functions, which take a
caller, and refused in their words."""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from gateway_app.reset_outlook import outlook_of
from sessions_app.access import SCOPES, Caller
from sessions_app.admin.lists import ModelAdmin
from sessions_app.models import Agent
from sessions_app.problems import Invalid, Problem

# No key stands behind an operator at the admin.
NO_KEY = 0
TRIES = 3


def acting_for(agent: Agent, now: datetime | None = None) -> Caller:
    asked_at = now or timezone.now()
    return Caller(
        NO_KEY,
        agent.pk,
        agent.name,
        agent.timezone,
        frozenset(SCOPES),
        outlook_of(agent, asked_at),
        redaction=agent.redaction,
        asked_at=asked_at,
    )


def as_form_error(refused: Invalid) -> ValidationError:
    return ValidationError([error["msg"] for error in refused.errors])


class OfAgent(ModelAdmin):
    """Where there is one agent only, a new row is that agent's unless somebody says otherwise."""

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        agents = list(Agent.objects.values_list("pk", flat=True)[:2])
        only = {"agent": agents[0]} if len(agents) == 1 else {}
        return {**only, **super().get_changeform_initial_data(request)}


class Refusing(ModelAdmin):
    """What only turns out while it is stored is told on the page, like what the form sees by itself."""

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        for _ in range(TRIES):
            try:
                return super().changeform_view(request, object_id, form_url, extra_context)
            except IntegrityError:
                # Somebody was first. What they stored is there now for the form to see and to name.
                continue
            except Problem as problem:
                return self._told(request, problem.detail)
        return self._told(request, "Somebody else changes the same thing just now. Try again.")

    def _told(self, request: HttpRequest, detail: str) -> HttpResponse:
        self.message_user(request, detail, messages.ERROR)
        return HttpResponseRedirect(request.get_full_path())
