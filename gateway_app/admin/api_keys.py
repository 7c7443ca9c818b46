from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from gateway_app import keys
from gateway_app.admin.acting import Refusing
from gateway_app.admin.secrets_once import shown_once
from gateway_app.models import ApiKey
from sessions_app.access import SCOPES
from sessions_app.commits import commit

MADE = "made_secret"


class KeyForm(forms.ModelForm):  # type: ignore[type-arg]
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in SCOPES],
        widget=forms.CheckboxSelectMultiple,
        help_text="admin implies write, write implies read.",
    )


class InUse(admin.SimpleListFilter):
    title, parameter_name = "state", "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("valid", "valid"), ("revoked", "revoked"), ("expired", "expired")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        expired = Q(expires_at__lte=timezone.now())
        if self.value() == "revoked":
            return queryset.filter(revoked_at__isnull=False)
        if self.value() == "expired":
            return queryset.filter(expired)
        if self.value() == "valid":
            return queryset.exclude(expired).filter(revoked_at__isnull=True)
        return queryset


@admin.register(ApiKey)
class ApiKeyAdmin(Refusing):
    form = KeyForm
    list_display = (
        "name", "prefix", "opens", "may", "created_at", "last_used_at", "expires_at", "revoked_at",
    )  # fmt: skip
    list_select_related = ("agent",)
    list_filter = (InUse, "agent")
    search_fields = ("name", "prefix__startswith")
    search_help_text = "A part of a name, or how a key begins."
    actions = ("revoke",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        given = ("name", "agent", "scopes", "expires_at")
        return given if obj is None else (*given, "prefix", "created_at", "last_used_at", "revoked_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """What a key may do is settled when it is made: whoever holds it was told so."""
        settled = ["agent", "scopes", "prefix", "created_at", "last_used_at", "revoked_at"]
        return [] if obj is None else settled

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        if change:
            commit(lambda: obj.save(update_fields=["name", "expires_at"]))
            return
        agent = None if obj.agent is None else obj.agent.name
        made, secret = keys.create_key(
            obj.name, agent, form.cleaned_data["scopes"], expires_at=obj.expires_at
        )
        obj.pk, obj.prefix = made.pk, made.prefix
        request.__dict__[MADE] = secret

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: Any = None) -> HttpResponse:
        back = reverse("admin:gateway_app_apikey_changelist")
        return shown_once(request, "The key", [(obj.name, request.__dict__.pop(MADE))], back)

    @admin.action(description="Revoke selected keys", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        now = timezone.now()
        for key in queryset.filter(revoked_at__isnull=True):
            keys.revoke(key, now)
            self.log_change(request, key, "Revoked.")
        self.message_user(request, "They open nothing any more.")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Revoked keys stay, to tell what was done with them and until when."""
        return False

    @admin.display(description="scopes")
    def may(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description="agent")
    def opens(self, key: ApiKey) -> str:
        return "every agent" if key.agent is None else key.agent.name
