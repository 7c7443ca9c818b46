from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from config.console.rights import make_groups


def add_groups(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    make_groups(apps)


class Migration(migrations.Migration):
    """The tables of skills may have come after the groups."""

    dependencies = [("config", "0006_groups"), ("skills_app", "0001_initial")]
    operations = [migrations.RunPython(add_groups, migrations.RunPython.noop)]
