"""Everything of one person, taken away: asked for with a word typed, done by a task, told by counts."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextInputWidget

from gateway_app import personal_data
from gateway_app.admin.acting import OfAgent, Refusing, acting_for
from gateway_app.models import PersonErasure
from sessions_app.admin.cells import GOOD, WARN, tag, when
from sessions_app.admin.lists import ONCE, LongList

WORD = "erase"


class ErasureForm(forms.ModelForm):  # type: ignore[type-arg]
    platform = forms.CharField(
        max_length=64, widget=UnfoldAdminTextInputWidget,
        help_text="Where the person is known, such as telegram.",
    )  # fmt: skip
    user_id = forms.CharField(
        max_length=512, label="User id", widget=UnfoldAdminTextInputWidget,
        help_text="As the platform names them. Whoever is linked to the same person goes with them.",
    )  # fmt: skip
    sure = forms.CharField(
        label=f"Type {WORD}",
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text="Their sessions, what they said in shared rooms, deliveries to them and the link between "
        "their accounts go, for good. There is no way back.",
    )

    class Meta:
        model = PersonErasure
        fields = ("agent", "platform", "user_id")

    def clean_sure(self) -> str:
        if self.cleaned_data["sure"] != WORD:
            raise ValidationError("Type the word to go on.")
        return WORD


@admin.register(PersonErasure)
class PersonErasureAdmin(LongList, OfAgent, Refusing):
    form = ErasureForm
    list_display = ("who", "of_agent", "stands", "sessions", "messages", "asked", "finished")
    list_display_links = None
    list_select_related = ("agent",)
    list_filter = ("agent",)
    add_says = "Erase a person"
    empty_says = (
        "Nothing of anybody has been erased. Ask for it here; the task tells how much went, never what."
    )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("agent", "platform", "user_id", "sure")

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        more = {"title": "Erase a person", **ONCE, **(extra_context or {})}
        answer: HttpResponse = super().add_view(request, form_url, more)
        return answer

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: PersonErasure, form: Any, change: bool) -> None:
        now = timezone.now()
        made = personal_data.ask(acting_for(obj.agent, now), obj.platform, obj.user_id, now)
        obj.__dict__.update(made.__dict__)

    @admin.display(description="person")
    def who(self, row: PersonErasure) -> str:
        return f"{row.platform}: {row.user_id}" if row.finished_at is None else "not known any more"

    @admin.display(description="agent")
    def of_agent(self, row: PersonErasure) -> str:
        return row.agent.name

    @admin.display(description="state")
    def stands(self, row: PersonErasure) -> SafeString:
        return tag("under way", WARN) if row.finished_at is None else tag("done", GOOD)

    @admin.display(description="asked for")
    def asked(self, row: PersonErasure) -> SafeString | str:
        return when(row.created_at)

    @admin.display(description="finished")
    def finished(self, row: PersonErasure) -> SafeString | str:
        return when(row.finished_at)
