import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0007_search_hidden")]

    operations = [
        migrations.AlterField(
            "message",
            "agent",
            models.ForeignKey(
                "sessions_app.agent",
                django.db.models.deletion.CASCADE,
                db_constraint=False,
                db_index=False,
            ),
        )
    ]
