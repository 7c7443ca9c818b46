from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from gateway_app import platforms
from gateway_app.admin.acting import OfAgent, Refusing, acting_for, as_form_error
from gateway_app.admin.secrets_once import shown_once
from gateway_app.models import Platform
from sessions_app.problems import Invalid

MADE = "made_secret"
VALUES = (
    "enabled", "home_chat_id", "home_name", "home_thread_id", "webhook_url", "dm_scope", "group_scope",
)  # fmt: skip
# Whoever knows the whole address may post to it: those who only look see where it leads.
SHOWN = {"webhook_url": "webhook_host"}


class PlatformForm(forms.ModelForm):  # type: ignore[type-arg]
    rotate_secret = forms.BooleanField(
        required=False, label="Make a new secret", help_text="The old one signs nothing from then on."
    )

    class Meta:
        help_texts: ClassVar = {
            "platform": "As it is called in sources: lower-case letters, digits, dots, underscores, hyphens.",
            "home_chat_id": "Where a delivery to the platform alone leads.",
            "webhook_url": "Where deliveries are posted to. Without one the platform is not connected.",
            "dm_scope": "chat: each direct chat has a session of its own. owner: all of them share one.",
            "group_scope": "chat: a room shares a session. user: everybody in it has one, except in threads.",
        }

    def clean_platform(self) -> str:
        platform: str = self.cleaned_data["platform"].strip().lower()
        try:
            platforms.check_name(platform)
        except Invalid as refused:
            raise as_form_error(refused) from None
        return platform

    def clean_webhook_url(self) -> str:
        url: str = self.cleaned_data["webhook_url"]
        try:
            if url:
                platforms.check_webhook(url)
        except Invalid as refused:
            raise as_form_error(refused) from None
        return url

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if (given.get("home_name") or given.get("home_thread_id")) and not given.get("home_chat_id"):
            raise ValidationError("A home channel needs the id of its chat.")
        return given


@admin.register(Platform)
class PlatformAdmin(OfAgent, Refusing):
    form = PlatformForm
    list_display = (
        "platform", "agent", "connected", "enabled", "home_name", "home_chat_id", "dm_scope", "group_scope",
    )  # fmt: skip
    list_select_related = ("agent",)
    list_filter = ("enabled", "agent")
    search_fields = ("platform",)
    actions = ("rotate",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        given = ("agent", "platform", *VALUES)
        if not self.has_change_permission(request, obj):
            return (*(SHOWN.get(name, name) for name in given), "created_at", "updated_at")
        return given if obj is None else (*given, "rotate_secret", "created_at", "updated_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [] if obj is None else ["agent", "platform", "webhook_host", "created_at", "updated_at"]

    def save_model(self, request: HttpRequest, obj: Platform, form: Any, change: bool) -> None:
        values = {name: getattr(obj, name) for name in VALUES}
        rotate = form.cleaned_data.get("rotate_secret", False)
        stored, secret = platforms.set_up(
            obj.agent_id, obj.platform, values, timezone.now(), rotate_secret=rotate
        )
        obj.pk = stored.pk
        request.__dict__[MADE] = secret

    def response_add(
        self, request: HttpRequest, obj: Platform, post_url_continue: Any = None
    ) -> HttpResponse:
        return self._told_secret(request, obj) or super().response_add(request, obj, post_url_continue)

    def response_change(self, request: HttpRequest, obj: Platform) -> HttpResponse:
        return self._told_secret(request, obj) or super().response_change(request, obj)

    def _told_secret(self, request: HttpRequest, obj: Platform) -> HttpResponse | None:
        secret = request.__dict__.pop(MADE)
        return secret and _page(request, [(obj.platform, secret)])

    def delete_model(self, request: HttpRequest, obj: Platform) -> None:
        platforms.remove(acting_for(obj.agent), obj.platform)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Platform]) -> None:
        for connection in queryset:
            self.delete_model(request, connection)

    @admin.action(description="Make new secrets for selected platforms", permissions=["change"])
    def rotate(self, request: HttpRequest, queryset: QuerySet[Platform]) -> HttpResponse:
        made, now = [], timezone.now()
        for connection in queryset:
            made.append((str(connection), platforms.rotate_secret(connection, now)))
            self.log_change(request, connection, "Made a new secret.")
        return _page(request, made)

    @admin.display(description="webhook")
    def webhook_host(self, connection: Platform) -> str:
        return platforms.host_of(connection.webhook_url)

    @admin.display(boolean=True)
    def connected(self, connection: Platform) -> bool:
        return platforms.is_connected(connection)


def _page(request: HttpRequest, secrets: list[tuple[str, str]]) -> HttpResponse:
    back = reverse("admin:gateway_app_platform_changelist")
    return shown_once(request, "The secret of the webhook", secrets, back)
