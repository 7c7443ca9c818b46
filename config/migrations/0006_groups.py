from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from config.console.rights import make_groups

# name, task, every, period
SCHEDULES = [
    ("Count activity", "sessions_app.tasks.count_activity", 1, "minutes"),
    ("Resume operators' jobs", "config.tasks.resume_jobs", 1, "minutes"),
]


def add_groups(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    make_groups(apps)


def add_schedules(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    interval = apps.get_model("django_celery_beat", "IntervalSchedule")
    periodic = apps.get_model("django_celery_beat", "PeriodicTask")
    for name, task, every, period in SCHEDULES:
        schedule, _ = interval.objects.get_or_create(every=every, period=period)
        periodic.objects.get_or_create(task=task, defaults={"name": name, "interval": schedule})


class Migration(migrations.Migration):
    dependencies = [
        ("config", "0005_transfer_schedules"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("sessions_app", "0005_console"),
        ("gateway_app", "0003_console"),
    ]
    operations = [
        migrations.RunPython(add_groups, migrations.RunPython.noop),
        migrations.RunPython(add_schedules, migrations.RunPython.noop),
    ]
