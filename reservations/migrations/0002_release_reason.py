from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reservations", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="hold",
            name="release_reason",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
    ]
