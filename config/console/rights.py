"""The three groups and what each may do. Migrations use it, with the apps as they are at that point."""

from typing import Any

from django.apps.registry import Apps
from django.contrib.auth.management import create_permissions

VIEWER, OPERATOR, ADMIN = "viewer", "operator", "admin"
OURS = ("sessions_app", "gateway_app", "skills_app")
# Whoever sees a key's name and beginning knows whom to ask for it.
SECRET = {"apikey"}
SCHEDULES = {"periodictask", "intervalschedule", "crontabschedule", "clockedschedule", "solarschedule"}
ACTS: dict[str, tuple[str, ...]] = {
    "session": ("change", "delete"),
    "delivery": ("change",),
    "lease": ("delete",),
    "resetpolicy": ("add", "change", "delete"),
    "person": ("add", "change", "delete"),
    "operatorjob": ("change",),
    "periodictask": ("change",),
    "consolidation": ("change",),
    "consolidationjob": ("change",),
    "memoryrevision": ("change",),
}


def make_groups(apps: Apps) -> None:
    """Adds what is missing and takes nothing away: what superusers gave to a group stays."""
    _make_permissions(apps)
    group_model = apps.get_model("auth", "Group")
    groups = {name: group_model.objects.get_or_create(name=name)[0] for name in (VIEWER, OPERATOR, ADMIN)}
    for permission in apps.get_model("auth", "Permission").objects.select_related("content_type"):
        for name in who_may(permission):
            groups[name].permissions.add(permission)


def who_may(permission: Any) -> tuple[str, ...]:
    verb, _, model = permission.codename.partition("_")
    app = permission.content_type.app_label
    if app == "auth":
        return (ADMIN,) if model == "user" or verb == "view" else ()
    if app == "admin":
        return (VIEWER, OPERATOR, ADMIN) if verb == "view" else ()
    if (app == "django_celery_beat" and model not in SCHEDULES) or app not in (*OURS, "django_celery_beat"):
        return ()
    if verb == "view" and model not in SECRET:
        return (VIEWER, OPERATOR, ADMIN)
    return (OPERATOR, ADMIN) if verb in ACTS.get(model, ()) else (ADMIN,)


def _make_permissions(apps: Apps) -> None:
    """They are made only after all migrations; these are needed within one."""
    for app in apps.get_app_configs():
        # A migration's own picture of an app has no module, and is passed over without one.
        app.__dict__["models_module"] = True
        create_permissions(app, apps=apps, verbosity=0)
