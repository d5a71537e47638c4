from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reservations", "0003_checkout"),
        ("tenants", "0003_keys_in_progress"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("status", "needs_review")),
                fields=["tenant", "settled_at"],
                name="payment_under_review",
            ),
        ),
    ]
