import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import holdfast.kernel.ids
import webhooks.models.message
from django.db import migrations, models

from tenants.rls import IsolateTenant

# asked for each message that is written, so its plan is kept by each session
SOMEBODY_LISTENS = """
    CREATE FUNCTION webhooks_somebody_listens() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
    BEGIN
        RETURN EXISTS (
            SELECT FROM webhooks_endpoint
            WHERE tenant_id = nullif(current_setting('holdfast.tenant_id', true), '')::uuid AND status = 'enabled'
        );
    END
    $$
"""


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0003_keys_in_progress"),
        ("webhooks", "0001_outbox"),
    ]

    operations = [
        migrations.CreateModel(
            name="Attempt",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=holdfast.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("at", models.DateTimeField()),
                ("duration_ms", models.PositiveIntegerField(null=True)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("delivered", "delivered"),
                            ("gone", "gone"),
                            ("redirected", "redirected"),
                            ("rejected", "rejected"),
                            ("refused_url", "refused_url"),
                            ("refused_address", "refused_address"),
                            ("unresolvable", "unresolvable"),
                            ("connect_failed", "connect_failed"),
                            ("tls_failed", "tls_failed"),
                            ("timed_out", "timed_out"),
                            ("reset", "reset"),
                            ("protocol_error", "protocol_error"),
                            ("lost", "lost"),
                        ],
                        max_length=20,
                    ),
                ),
                ("status_code", models.PositiveSmallIntegerField(null=True)),
                ("response", models.TextField(blank=True, default="")),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=holdfast.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("pending", "Pending"), ("delivered", "Delivered"), ("dead", "Dead")],
                        db_default="pending",
                        max_length=9,
                    ),
                ),
                ("attempts_made", models.PositiveIntegerField(db_default=0)),
                ("attempts_before", models.PositiveIntegerField(db_default=0)),
                ("fence", models.PositiveIntegerField(db_default=0)),
                ("look_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True)),
                ("claimed_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("settled_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=holdfast.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("url", models.CharField(max_length=2048)),
                ("events", django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40))),
                ("description", models.CharField(blank=True, default="", max_length=200)),
                (
                    "status",
                    models.CharField(
                        choices=[("enabled", "Enabled"), ("disabled", "Disabled")], default="enabled", max_length=8
                    ),
                ),
                (
                    "disabled_reason",
                    models.CharField(
                        choices=[("organizer", "Organizer"), ("gone", "Gone"), ("failing", "Failing")],
                        max_length=9,
                        null=True,
                    ),
                ),
                ("secrets", models.BinaryField(default=b"")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("deleted_at", models.DateTimeField(null=True)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("failing_since", models.DateTimeField(null=True)),
                ("last_success_at", models.DateTimeField(null=True)),
                ("breaker_openings", models.PositiveIntegerField(default=0)),
                ("breaker_until", models.DateTimeField(null=True)),
                ("notices", models.PositiveSmallIntegerField(default=0)),
                ("is_slow", models.BooleanField(default=False)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Replay",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=holdfast.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("types", django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40))),
                ("status", models.CharField(choices=[("all", "All"), ("dead", "Dead")], default="all", max_length=4)),
                (
                    "state",
                    models.CharField(
                        choices=[("running", "Running"), ("done", "Done"), ("stopped", "Stopped")],
                        default="running",
                        max_length=7,
                    ),
                ),
                ("matched", models.PositiveIntegerField()),
                ("queued", models.PositiveIntegerField(default=0)),
                ("cursor_at", models.DateTimeField(null=True)),
                ("cursor_id", models.UUIDField(null=True)),
                ("look_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.AddField(
            model_name="attempt",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tenants.tenant",
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="message",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="deliveries",
                to="webhooks.message",
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tenants.tenant",
            ),
        ),
        migrations.AddField(
            model_name="attempt",
            name="delivery",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="attempts",
                to="webhooks.delivery",
            ),
        ),
        migrations.AddField(
            model_name="endpoint",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tenants.tenant",
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="endpoint",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="deliveries",
                to="webhooks.endpoint",
            ),
        ),
        migrations.AddField(
            model_name="replay",
            name="endpoint",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="replays",
                to="webhooks.endpoint",
            ),
        ),
        migrations.AddField(
            model_name="replay",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tenants.tenant",
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="replay",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="deliveries",
                to="webhooks.replay",
            ),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(fields=["at"], name="attempt_by_time"),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="attempt_of_tenant"),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "outcome__in",
                        (
                            "delivered",
                            "gone",
                            "redirected",
                            "rejected",
                            "refused_url",
                            "refused_address",
                            "unresolvable",
                            "connect_failed",
                            "tls_failed",
                            "timed_out",
                            "reset",
                            "protocol_error",
                            "lost",
                        ),
                    )
                ),
                name="attempt_outcome_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("duration_ms", None), ("outcome", "lost")),
                    models.Q(models.Q(("outcome", "lost"), _negated=True), ("duration_ms__isnull", False)),
                    _connector="OR",
                ),
                name="attempt_took_time_unless_lost",
            ),
        ),
        migrations.AddIndex(
            model_name="endpoint",
            index=models.Index(condition=models.Q(("status", "enabled")), fields=["tenant"], name="endpoint_enabled"),
        ),
        migrations.AddIndex(
            model_name="endpoint",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="endpoint_deleted"
            ),
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="endpoint_of_tenant"),
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["enabled", "disabled"])), name="endpoint_status_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("disabled_reason", None), ("status", "enabled")),
                    models.Q(("disabled_reason__in", ["organizer", "gone", "failing"]), ("status", "disabled")),
                    _connector="OR",
                ),
                name="endpoint_has_a_reason_iff_disabled",
            ),
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(("deleted_at", None), ("status", "disabled"), _connector="OR"),
                name="endpoint_deleted_is_disabled",
            ),
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("failing_since", None), ("failures", 0)),
                    models.Q(("failing_since__isnull", False), ("failures__gt", 0)),
                    _connector="OR",
                ),
                name="endpoint_fails_since_its_first_failure",
            ),
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("breaker_until", None), models.Q(("breaker_openings__gt", 0), ("failures__gt", 0)), _connector="OR"
                ),
                name="endpoint_breaker_opens_after_failures",
            ),
        ),
        migrations.AddIndex(
            model_name="replay",
            index=models.Index(condition=models.Q(("look_at__isnull", False)), fields=["look_at"], name="replay_due"),
        ),
        migrations.AddConstraint(
            model_name="replay",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="replay_of_tenant"),
        ),
        migrations.AddConstraint(
            model_name="replay",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["running", "done", "stopped"])), name="replay_state_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="replay",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["all", "dead"])), name="replay_status_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="replay",
            constraint=models.CheckConstraint(
                condition=models.Q(("matched__lte", 10000)), name="replay_is_of_ten_thousand_at_most"
            ),
        ),
        migrations.AddConstraint(
            model_name="replay",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at", None), ("look_at__isnull", False), ("state", "running")),
                    models.Q(
                        models.Q(("state", "running"), _negated=True), ("ended_at__isnull", False), ("look_at", None)
                    ),
                    _connector="OR",
                ),
                name="replay_is_looked_at_while_running",
            ),
        ),
        migrations.AddConstraint(
            model_name="replay",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("cursor_at", None), ("cursor_id", None)),
                    models.Q(("cursor_at__isnull", False), ("cursor_id__isnull", False)),
                    _connector="OR",
                ),
                name="replay_cursor_is_whole",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("look_at__isnull", False)), fields=["endpoint", "look_at"], name="delivery_due"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("claimed_at__isnull", False)), fields=["tenant", "look_at"], name="delivery_claimed"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("replay__isnull", False)), fields=["replay"], name="delivery_by_replay"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("settled_at__isnull", False)), fields=["settled_at"], name="delivery_settled"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(condition=models.Q(("status", "dead")), fields=["tenant", "id"], name="delivery_dead"),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="delivery_of_tenant"),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(
                fields=("endpoint", "message"), name="message_is_delivered_once_to_an_endpoint"
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["pending", "delivered", "dead"])), name="delivery_status_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("look_at__isnull", False), ("settled_at", None), ("status", "pending")),
                    models.Q(
                        models.Q(("status", "pending"), _negated=True),
                        ("claimed_at", None),
                        ("look_at", None),
                        ("settled_at__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="delivery_is_looked_at_while_pending",
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(("attempts_before__lte", models.F("attempts_made"))),
                name="delivery_attempts_before_were_made",
            ),
        ),
        IsolateTenant("Endpoint"),
        IsolateTenant("Replay"),
        IsolateTenant("Delivery"),
        IsolateTenant("Attempt"),
        migrations.RunSQL(SOMEBODY_LISTENS, "DROP FUNCTION webhooks_somebody_listens()"),
        migrations.AddField(
            model_name="message",
            name="waits_for_relay",
            field=models.BooleanField(db_default=webhooks.models.message.SomebodyListens()),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(fields=["tenant", "occurred_at", "id"], name="message_by_time"),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("waits_for_relay", True)), fields=["tenant", "id"], name="message_to_relay"
            ),
        ),
    ]
