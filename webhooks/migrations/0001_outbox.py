import django.db.models.deletion
import django.db.models.functions.datetime
import holdfast.kernel.ids
import webhooks.models.message
from django.db import migrations, models

from tenants.rls import IsolateTenant


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("tenants", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Message",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=holdfast.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("type", models.CharField(max_length=40)),
                ("subject_type", models.CharField(max_length=20)),
                ("subject_id", models.UUIDField()),
                ("sequence", models.PositiveIntegerField()),
                ("payload", models.TextField()),
                ("actor", models.CharField(blank=True, default="", max_length=200)),
                ("occurred_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("transaction", models.BigIntegerField(db_default=webhooks.models.message.CurrentTransaction())),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "indexes": [models.Index(fields=["tenant", "transaction", "id"], name="message_feed")],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "id"), name="message_of_tenant"),
                    models.UniqueConstraint(
                        fields=("subject_id", "sequence"), name="message_sequence_is_unique_in_its_subject"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("sequence__gte", 1)), name="message_sequence_counts_from_one"
                    ),
                ],
            },
        ),
        IsolateTenant("Message"),
    ]
