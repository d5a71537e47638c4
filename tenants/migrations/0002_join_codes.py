from django.db import migrations, models

# nothing says which of the logins that others made still have their first password
_CHANGE_ALL = "UPDATE tenants_user SET must_change_password = true WHERE NOT is_superuser"


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="must_change_password",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.RunSQL(_CHANGE_ALL, migrations.RunSQL.noop),
        migrations.AddField(
            model_name="membership",
            name="join_code_sha256",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="membership",
            name="join_code_expires_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("join_code_expires_at", None), ("join_code_sha256", None)),
                    models.Q(("join_code_expires_at__isnull", False), ("join_code_sha256__isnull", False)),
                    _connector="OR",
                ),
                name="membership_join_code_has_an_end",
            ),
        ),
    ]
