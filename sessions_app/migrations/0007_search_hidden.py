from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0006_end_decision"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("hidden_by", ""), _negated=True),
                fields=["agent", "id"],
                name="message_hidden",
            ),
        ),
    ]
