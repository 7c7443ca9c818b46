from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# name, task, every, period
SCHEDULES = [
    ("Feed the search index", "sessions_app.tasks.feed_search", 2, "seconds"),
    ("Make vectors of meaning", "sessions_app.tasks.embed_messages", 5, "seconds"),
]


def add_schedules(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    interval = apps.get_model("django_celery_beat", "IntervalSchedule")
    periodic = apps.get_model("django_celery_beat", "PeriodicTask")
    for name, task, every, period in SCHEDULES:
        schedule, _ = interval.objects.get_or_create(every=every, period=period)
        # A row that is there is an operator's, edited or not.
        periodic.objects.get_or_create(task=task, defaults={"name": name, "interval": schedule})


class Migration(migrations.Migration):
    dependencies = [("config", "0001_schedules")]
    operations = [migrations.RunPython(add_schedules, migrations.RunPython.noop)]
