from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldBooleanSwitchWidget

from gateway_app import platforms
from gateway_app.admin.acting import OfAgent, Refusing, acting_for, as_form_error
from gateway_app.admin.secrets_once import shown_once
from gateway_app.models import Platform
from sessions_app.admin.cells import GOOD, NONE, WARN, tag, two_lines, when
from sessions_app.problems import Invalid

MADE = "made_secret"
DM_SCOPES = (
    ("chat", "each chat has a session of its own"), ("owner", "all of them share one: a bot with one owner"),
)  # fmt: skip
GROUP_SCOPES = (
    ("chat", "everybody in a room shares its session"), ("user", "each person in a room has their own"),
)  # fmt: skip
VALUES = (
    "enabled", "home_chat_id", "home_name", "home_thread_id", "webhook_url", "dm_scope", "group_scope",
)  # fmt: skip


class PlatformForm(forms.ModelForm):  # type: ignore[type-arg]
    rotate_secret = forms.BooleanField(
        required=False, label="Make a new secret", help_text="The old one signs nothing from then on.",
        widget=UnfoldBooleanSwitchWidget,
    )  # fmt: skip
    dm_scope = forms.ChoiceField(
        choices=DM_SCOPES, initial="chat", label="Direct messages", widget=UnfoldAdminSelectWidget
    )
    group_scope = forms.ChoiceField(
        choices=GROUP_SCOPES, initial="chat", label="Rooms", widget=UnfoldAdminSelectWidget
    )

    class Meta:
        labels: ClassVar = {
            "home_chat_id": "Id of the chat", "home_name": "Its name", "home_thread_id": "Id of the thread",
            "webhook_url": "Webhook",
        }  # fmt: skip
        help_texts: ClassVar = {
            "platform": "A short name in small letters, such as telegram. It stands in keys of sessions.",
            "enabled": "Switched off, nothing is delivered to it.",
            "home_chat_id": "Where deliveries to the platform go that name no chat.",
            "webhook_url": "Deliveries are posted to it, signed with a secret that is shown once. "
            "Without one the platform is not connected.",
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
    list_display = ("platform", "of_agent", "stands", "webhook_host", "home", "sharing", "changed")
    empty_says = (
        "No platform is connected. A connection tells where deliveries go and how chats become sessions."
    )
    list_select_related = ("agent",)
    list_filter = ("enabled", "agent")
    search_fields = ("platform",)
    actions = ("rotate",)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        may_change = obj is None or self.has_change_permission(request, obj)
        webhook = ("webhook_url",) if may_change else ("webhook_host",)
        rotate = ("rotate_secret",) if may_change and obj is not None else ()
        times = [] if obj is None else [("Times", {"fields": ("created_at", "updated_at")})]
        return [
            (None, {"fields": ("agent", "platform", "enabled")}),
            ("Deliveries", {"fields": (*webhook, *rotate)}),
            ("Home channel", {"fields": ("home_chat_id", "home_name", "home_thread_id")}),
            ("How chats become sessions", {"fields": ("dm_scope", "group_scope")}),
            *times,
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Whoever knows the whole address of a webhook may post to it: those who only look see its host."""
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

    @admin.display(description="agent")
    def of_agent(self, connection: Platform) -> str:
        return connection.agent.name

    @admin.display(description="state")
    def stands(self, connection: Platform) -> SafeString:
        if platforms.is_connected(connection):
            return tag("connected", GOOD)
        return tag("no webhook", WARN) if connection.enabled else tag("off")

    @admin.display(description="home channel")
    def home(self, connection: Platform) -> SafeString | str:
        if not connection.home_chat_id:
            return NONE
        return two_lines(connection.home_name or connection.home_chat_id, connection.home_chat_id)

    @admin.display(description="sessions")
    def sharing(self, connection: Platform) -> SafeString:
        return two_lines(
            f"direct: {dict(DM_SCOPES)[connection.dm_scope]}",
            f"rooms: {dict(GROUP_SCOPES)[connection.group_scope]}",
        )

    @admin.display(description="changed")
    def changed(self, connection: Platform) -> SafeString | str:
        return when(connection.updated_at)


def _page(request: HttpRequest, secrets: list[tuple[str, str]]) -> HttpResponse:
    back = reverse("admin:gateway_app_platform_changelist")
    return shown_once(request, "The secret of the webhook", secrets, back)
