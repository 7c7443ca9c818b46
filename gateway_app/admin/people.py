from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest

from gateway_app import people
from gateway_app.admin.acting import OfAgent, Refusing
from gateway_app.models import Identity, Person
from gateway_app.sources import BadSource
from sessions_app.admin.lists import TabularInline
from sessions_app.commits import commit


class IdentityForm(forms.ModelForm):  # type: ignore[type-arg]
    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if "platform" in given and "user_id" in given:
            try:
                known = people.known_as(given["platform"], given["user_id"])
            except BadSource as error:
                raise ValidationError(str(error)) from None
            given["platform"], given["user_id"] = known
        return given

    class Meta:
        help_texts: ClassVar = {"user_id": "However it is written: it is stored as ids are compared."}


class Identities(BaseInlineFormSet):  # type: ignore[type-arg]
    def clean(self) -> None:
        super().clean()
        known = self.known()
        if len(set(known)) < len(known):
            raise ValidationError("The same identity stands here twice.")
        agent_id = self.instance.agent_id
        other = None if agent_id is None else people.taken(agent_id, self.instance.pk, known)
        if other is not None:
            raise ValidationError(f"{other} is {other.person.name} already.")

    def known(self) -> list[people.Known]:
        """What the forms say, without those that are empty or to be removed."""
        kept = [form.cleaned_data for form in self.forms if form.is_valid() and not self._removed(form)]
        return [(given["platform"], given["user_id"]) for given in kept if "platform" in given]

    def _removed(self, form: forms.ModelForm) -> bool:  # type: ignore[type-arg]
        return bool(form.cleaned_data.get("DELETE"))


class IdentityInline(TabularInline):
    model = Identity
    form = IdentityForm
    formset = Identities
    extra = 1
    verbose_name_plural = "identities: direct messages of all of them share one session"


@admin.register(Person)
class PersonAdmin(OfAgent, Refusing):
    inlines = [IdentityInline]
    list_display = ("name", "agent", "known_as", "created_at")
    list_select_related = ("agent",)
    list_filter = ("agent",)
    search_fields = ("name", "identities__user_id__exact")
    search_help_text = "A part of a name, or a whole user id."

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("identities")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if obj is None else ("agent", "uid", "created_at")

    def save_model(self, request: HttpRequest, obj: Person, form: Any, change: bool) -> None:
        commit(obj.save)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        # Tells the admin's log what is new; the identities themselves are stored all together.
        formset.save(commit=False)
        people.link(form.instance, formset.known())

    def delete_model(self, request: HttpRequest, obj: Person) -> None:
        commit(obj.delete)

    @admin.display(description="known as")
    def known_as(self, person: Person) -> str:
        return ", ".join(sorted(map(str, person.identities.all())))
