from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0003_keys_in_progress"),
        ("webhooks", "0003_late_commits"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="message",
            name="message_by_time",
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(fields=["tenant", "occurred_at", "id"], include=("type",), name="message_by_time"),
        ),
        migrations.AddIndex(
            model_name="replay",
            index=models.Index(
                condition=models.Q(("look_at__isnull", False)), fields=["endpoint", "id"], name="replay_running"
            ),
        ),
    ]
