"""Who may log in and what they may do. Nobody gives away, or takes, a right that they do not have."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import GroupAdmin as PlainGroupAdmin
from django.contrib.auth.admin import UserAdmin as PlainUserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from sessions_app.admin.lists import LongList, ModelAdmin, ReadOnly

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(PlainUserAdmin, ModelAdmin):  # type: ignore[type-arg]
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_active", "is_staff", "is_superuser", "last_login")
    list_filter = ("is_active", "is_superuser", "groups")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        given = ("last_login", "date_joined")
        return given if request.user.is_superuser else (*given, "is_superuser", "user_permissions")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and _may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_touch(request, obj)


def _may_touch(request: HttpRequest, user: User | None) -> bool:
    """A superuser's account, and with it every right, is a superuser's matter."""
    return user is None or not user.is_superuser or bool(request.user.is_superuser)


@admin.register(Group)
class GroupAdmin(PlainGroupAdmin, ModelAdmin):
    """What a group may do is settled by superusers: else whoever may change groups may do everything."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)


@admin.register(LogEntry)
class LogEntryAdmin(ReadOnly, LongList):
    """Who did what, in the order in which it was done."""

    list_display = ("action_time", "user", "content_type", "object_repr", "said")
    list_select_related = ("user", "content_type")
    list_filter = ("action_flag",)
    list_display_links = None

    @admin.display(description="what")
    def said(self, entry: LogEntry) -> str:
        return entry.get_change_message()
