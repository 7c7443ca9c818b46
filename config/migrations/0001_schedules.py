from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# name, task, every, period
SCHEDULES = [
    ("Heartbeat", "config.tasks.beat", 15, "seconds"),
    ("End sessions that are due", "gateway_app.tasks.sweep_sessions", 1, "minutes"),
    ("Send deliveries that are due", "gateway_app.tasks.deliver_due", 15, "seconds"),
    ("Forget old idempotent answers", "sessions_app.tasks.forget_idempotent_answers", 1, "hours"),
]


def add_schedules(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    interval = apps.get_model("django_celery_beat", "IntervalSchedule")
    periodic = apps.get_model("django_celery_beat", "PeriodicTask")
    for name, task, every, period in SCHEDULES:
        schedule, _ = interval.objects.get_or_create(every=every, period=period)
        # A row that is there is an operator's, edited or not.
        periodic.objects.get_or_create(task=task, defaults={"name": name, "interval": schedule})


class Migration(migrations.Migration):
    dependencies = [("django_celery_beat", "0019_alter_periodictasks_options")]
    operations = [migrations.RunPython(add_schedules, migrations.RunPython.noop)]
