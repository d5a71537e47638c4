import django.db.models.deletion
import django.db.models.functions.datetime
import holdfast.kernel.ids
from django.db import migrations, models

from tenants.rls import IsolateTenant


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("tenants", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=holdfast.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("slug", models.SlugField(db_index=False, max_length=100)),
                ("name", models.CharField(max_length=200)),
                (
                    "kind",
                    models.CharField(
                        choices=[("seats", "Seats"), ("slots", "Slots"), ("items", "Items")], max_length=5
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                ("timezone", models.CharField(max_length=64)),
                ("starts_at", models.DateTimeField(blank=True, null=True)),
                ("ends_at", models.DateTimeField(blank=True, null=True)),
                ("sales_open_at", models.DateTimeField(blank=True, null=True)),
                ("sales_close_at", models.DateTimeField(blank=True, null=True)),
                ("hold_ttl_seconds", models.PositiveIntegerField(default=600)),
                ("hold_extensions_max", models.PositiveSmallIntegerField(default=2)),
                ("units_per_hold_max", models.PositiveSmallIntegerField(default=10)),
                ("units_per_customer_max", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("on_sale", "On Sale"),
                            ("paused", "Paused"),
                            ("closed", "Closed"),
                        ],
                        default="draft",
                        editable=False,
                        max_length=7,
                    ),
                ),
                (
                    "paused_reason",
                    models.CharField(
                        choices=[("organizer", "Organizer"), ("invariant", "Invariant")],
                        editable=False,
                        max_length=9,
                        null=True,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
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
            },
        ),
        migrations.CreateModel(
            name="Hold",
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
                        choices=[
                            ("active", "Active"),
                            ("converted", "Converted"),
                            ("released", "Released"),
                            ("expired", "Expired"),
                        ],
                        default="active",
                        max_length=9,
                    ),
                ),
                ("customer", models.CharField(max_length=200)),
                ("customer_key", models.BinaryField(max_length=32)),
                ("quantity", models.PositiveIntegerField()),
                ("items", models.JSONField()),
                ("total_amount", models.BigIntegerField()),
                ("metadata", models.JSONField(blank=True, default=dict)),
                ("extensions_used", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "event",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="holds",
                        to="reservations.event",
                    ),
                ),
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
            },
        ),
        migrations.CreateModel(
            name="Unit",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=holdfast.kernel.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("label", models.CharField(max_length=60)),
                ("section", models.CharField(blank=True, default="", max_length=40)),
                ("row", models.CharField(blank=True, default="", max_length=40)),
                ("number", models.CharField(blank=True, default="", max_length=40)),
                ("price_amount", models.BigIntegerField(default=0)),
                ("starts_at", models.DateTimeField(blank=True, null=True)),
                ("ends_at", models.DateTimeField(blank=True, null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("available", "Available"),
                            ("held", "Held"),
                            ("sold", "Sold"),
                            ("blocked", "Blocked"),
                        ],
                        default="available",
                        editable=False,
                        max_length=9,
                    ),
                ),
                ("spread", models.BigIntegerField(editable=False)),
                (
                    "event",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="units",
                        to="reservations.event",
                    ),
                ),
                (
                    "hold",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="units",
                        to="reservations.hold",
                    ),
                ),
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
            },
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="event_of_tenant"),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.UniqueConstraint(fields=("tenant", "slug"), name="event_slug_is_unique_in_its_tenant"),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["draft", "on_sale", "paused", "closed"])),
                name="event_status_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["seats", "slots", "items"])), name="event_kind_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("paused_reason__in", ["organizer", "invariant"]),
                        ("paused_reason__isnull", False),
                        ("status", "paused"),
                    ),
                    models.Q(models.Q(("status", "paused"), _negated=True), ("paused_reason", None)),
                    _connector="OR",
                ),
                name="event_has_a_paused_reason_iff_paused",
            ),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(("hold_ttl_seconds__range", (5, 7200))), name="event_hold_ttl_seconds_in_range"
            ),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(("hold_extensions_max__lte", 10)), name="event_hold_extensions_in_range"
            ),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(("units_per_hold_max__range", (1, 100))), name="event_units_per_hold_in_range"
            ),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("units_per_customer_max", None), ("units_per_customer_max__range", (1, 10000)), _connector="OR"
                ),
                name="event_units_per_customer_in_range",
            ),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("starts_at__isnull", True),
                    ("ends_at__isnull", True),
                    ("starts_at__lt", models.F("ends_at")),
                    _connector="OR",
                ),
                name="event_starts_before_it_ends",
            ),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("sales_open_at__isnull", True),
                    ("sales_close_at__isnull", True),
                    ("sales_open_at__lt", models.F("sales_close_at")),
                    _connector="OR",
                ),
                name="event_sales_open_before_they_close",
            ),
        ),
        migrations.AddIndex(
            model_name="hold",
            index=models.Index(fields=["event", "id"], name="hold_by_event"),
        ),
        migrations.AddIndex(
            model_name="hold",
            index=models.Index(
                condition=models.Q(("status", "active")), fields=["event", "expires_at"], name="hold_active_by_end"
            ),
        ),
        migrations.AddIndex(
            model_name="hold",
            index=models.Index(
                condition=models.Q(("status", "active")),
                fields=["tenant", "expires_at"],
                name="hold_active_of_tenant_by_end",
            ),
        ),
        migrations.AddIndex(
            model_name="hold",
            index=models.Index(fields=["event", "customer_key"], name="hold_by_customer"),
        ),
        migrations.AddConstraint(
            model_name="hold",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="hold_of_tenant"),
        ),
        migrations.AddConstraint(
            model_name="hold",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["active", "converted", "released", "expired"])),
                name="hold_status_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="hold",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at", None), ("status", "active")),
                    models.Q(models.Q(("status", "active"), _negated=True), ("ended_at__isnull", False)),
                    _connector="OR",
                ),
                name="hold_ended_iff_not_active",
            ),
        ),
        migrations.AddConstraint(
            model_name="hold",
            constraint=models.CheckConstraint(
                condition=models.Q(("quantity__gte", 1)), name="hold_quantity_is_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="hold",
            constraint=models.CheckConstraint(
                condition=models.Q(("total_amount__gte", 0)), name="hold_total_is_not_negative"
            ),
        ),
        migrations.AddConstraint(
            model_name="hold",
            constraint=models.CheckConstraint(
                condition=models.Q(("expires_at__gte", models.F("created_at"))), name="hold_ends_after_it_begins"
            ),
        ),
        migrations.AddIndex(
            model_name="unit",
            index=models.Index(fields=["event", "id"], name="unit_by_event"),
        ),
        migrations.AddIndex(
            model_name="unit",
            index=models.Index(condition=models.Q(("hold__isnull", False)), fields=["hold"], name="unit_by_hold"),
        ),
        migrations.AddIndex(
            model_name="unit",
            index=models.Index(
                condition=models.Q(("status", "available")),
                fields=["event", "section", "spread"],
                name="unit_free_by_section",
            ),
        ),
        migrations.AddIndex(
            model_name="unit",
            index=models.Index(
                condition=models.Q(("status", "available")), fields=["event", "spread"], name="unit_free"
            ),
        ),
        migrations.AddConstraint(
            model_name="unit",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="unit_of_tenant"),
        ),
        migrations.AddConstraint(
            model_name="unit",
            constraint=models.UniqueConstraint(fields=("event", "label"), name="unit_label_is_unique_in_its_event"),
        ),
        migrations.AddConstraint(
            model_name="unit",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["available", "held", "sold", "blocked"])),
                name="unit_status_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="unit",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("hold__isnull", False), ("status__in", ["held", "sold"])),
                    models.Q(("hold__isnull", True), ("status__in", ["available", "blocked"])),
                    _connector="OR",
                ),
                name="unit_held_iff_hold",
            ),
        ),
        migrations.AddConstraint(
            model_name="unit",
            constraint=models.CheckConstraint(
                condition=models.Q(("price_amount__gte", 0)), name="unit_price_is_not_negative"
            ),
        ),
        migrations.AddConstraint(
            model_name="unit",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("starts_at", None), ("ends_at", None), ("starts_at__lt", models.F("ends_at")), _connector="OR"
                ),
                name="unit_starts_before_it_ends",
            ),
        ),
        IsolateTenant("Event"),
        IsolateTenant("Hold"),
        IsolateTenant("Unit"),
    ]
