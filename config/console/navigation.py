"""The way through the console: what somebody may not open is not offered."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

# title, icon, name of the page, the right that it takes
Entry = tuple[str, str, str, str]

GROUPS: dict[str, tuple[Entry, ...]] = {
    "": (("Overview", "space_dashboard", "index", ""),),
    "Record": (
        ("Search", "search", "console_search", "sessions_app.view_message"),
        ("Sessions", "forum", "sessions_app_session_changelist", "sessions_app.view_session"),
        ("Messages", "notes", "sessions_app_message_changelist", "sessions_app.view_message"),
        ("People", "group", "gateway_app_person_changelist", "gateway_app.view_person"),
        ("Agents", "smart_toy", "sessions_app_agent_changelist", "sessions_app.view_agent"),
    ),
    "Insight": (
        ("Skills", "query_stats", "console_skills", "skills_app.view_skillrollup"),
        ("Skill uses", "bolt", "skills_app_skillinvocation_changelist", "skills_app.view_skillinvocation"),
        ("Reflections", "lightbulb", "sessions_app_reflection_changelist", "sessions_app.view_reflection"),
        ("Memory", "neurology", "sessions_app_memoryrevision_changelist", "sessions_app.view_memoryrevision"),
        ("Consolidations", "compress", "sessions_app_consolidation_changelist",
         "sessions_app.view_consolidation"),
        ("To be condensed", "hourglass", "sessions_app_consolidationjob_changelist",
         "sessions_app.view_consolidationjob"),
    ),
    "Traffic": (
        ("Deliveries", "outbox", "gateway_app_delivery_changelist", "gateway_app.view_delivery"),
        ("Platforms", "hub", "gateway_app_platform_changelist", "gateway_app.view_platform"),
        ("Leases", "lock_clock", "gateway_app_lease_changelist", "gateway_app.view_lease"),
        ("Reset policies", "restart_alt", "gateway_app_resetpolicy_changelist",
         "gateway_app.view_resetpolicy"),
    ),
    "Operation": (
        ("Schedules", "schedule", "django_celery_beat_periodictask_changelist",
         "django_celery_beat.view_periodictask"),
        ("Jobs", "pending_actions", "sessions_app_operatorjob_changelist", "sessions_app.view_operatorjob"),
        ("Runs", "sprint", "sessions_app_run_changelist", "sessions_app.view_run"),
        ("Log", "history", "admin_logentry_changelist", "admin.view_logentry"),
    ),
    "Data": (
        ("Imports", "upload_file", "sessions_app_import_changelist", "sessions_app.view_import"),
        ("Retention", "auto_delete", "sessions_app_retentionrule_changelist",
         "sessions_app.view_retentionrule"),
        ("Erasures", "person_remove", "gateway_app_personerasure_changelist",
         "gateway_app.view_personerasure"),
        ("Deleted", "delete_history", "sessions_app_deletion_changelist", "sessions_app.view_deletion"),
    ),
    "Access": (
        ("API keys", "key", "gateway_app_apikey_changelist", "gateway_app.view_apikey"),
        ("Users", "person", "auth_user_changelist", "auth.view_user"),
        ("Groups", "badge", "auth_group_changelist", "auth.view_group"),
    ),
}  # fmt: skip


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    groups = [
        {
            "title": title,
            "separator": bool(title),
            "items": [_item(*entry) for entry in entries if _may(request, entry)],
        }
        for title, entries in GROUPS.items()
    ]
    return [group for group in groups if group["items"]]


def _item(title: str, icon: str, page: str, _: str) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": reverse(f"admin:{page}")}


def _may(request: HttpRequest, entry: Entry) -> bool:
    right = entry[3]
    # Whoever may change something may see it, as in the admin itself.
    return not right or any(
        request.user.has_perm(right.replace("view_", verb)) for verb in ("view_", "change_")
    )
