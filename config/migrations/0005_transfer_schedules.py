from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# name, task, every, period
SCHEDULES = [
    ("Take up imports that were lost", "sessions_app.tasks.resume_imports", 1, "minutes"),
    ("Delete what rules of retention say", "sessions_app.tasks.apply_retention", 10, "minutes"),
    ("Take up erasures that were lost", "gateway_app.tasks.resume_erasures", 1, "minutes"),
]


def add_schedules(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    interval = apps.get_model("django_celery_beat", "IntervalSchedule")
    periodic = apps.get_model("django_celery_beat", "PeriodicTask")
    for name, task, every, period in SCHEDULES:
        schedule, _ = interval.objects.get_or_create(every=every, period=period)
        # A row that is there is an operator's, edited or not.
        periodic.objects.get_or_create(task=task, defaults={"name": name, "interval": schedule})


class Migration(migrations.Migration):
    dependencies = [
        ("config", "0004_skills_schedule"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(add_schedules, migrations.RunPython.noop)]
