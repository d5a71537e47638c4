"""A unit: one seat, slot or item. Created in bulk by an organizer; its row holds its state.

available ⇄ blocked
available → held → sold
held → available (the hold ended)
sold → available | blocked (refunded)
"""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from reservations.models.event import Event
from reservations.models.hold import Hold
from reservations.models.order import Order
from tenants.models import TenantModel


class UnitStatus(models.TextChoices):
    AVAILABLE = "available"
    HELD = "held"
    SOLD = "sold"
    BLOCKED = "blocked"


class Unit(TenantModel):
    """`hold` is set exactly while held or sold, `order` exactly while sold. `spread` is the any-N scan order:
    neighbours stay together, blocks of them lie in random order; see `reservations.spread`."""

    LABEL_LENGTH_MAX = 60
    PLACE_LENGTH_MAX = 40

    event = models.ForeignKey(Event, models.PROTECT, db_constraint=False, db_index=False, related_name="units")
    label = models.CharField(max_length=LABEL_LENGTH_MAX)
    section = models.CharField(max_length=PLACE_LENGTH_MAX, blank=True, default="")
    row = models.CharField(max_length=PLACE_LENGTH_MAX, blank=True, default="")
    number = models.CharField(max_length=PLACE_LENGTH_MAX, blank=True, default="")
    price_amount = models.BigIntegerField(default=0)
    starts_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)
    status = models.CharField(max_length=9, choices=UnitStatus.choices, default=UnitStatus.AVAILABLE, editable=False)
    hold: "models.ForeignKey[Hold | None, Hold | None]" = models.ForeignKey(
        Hold, models.PROTECT, null=True, db_constraint=False, db_index=False, editable=False, related_name="units"
    )
    order: "models.ForeignKey[Order | None, Order | None]" = models.ForeignKey(
        Order, models.PROTECT, null=True, db_constraint=False, db_index=False, editable=False, related_name="units"
    )
    spread = models.BigIntegerField(editable=False)

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.UniqueConstraint(fields=["event", "label"], name="unit_label_is_unique_in_its_event"),
            models.CheckConstraint(condition=Q(status__in=UnitStatus.values), name="unit_status_is_known"),
            models.CheckConstraint(
                condition=Q(status__in=[UnitStatus.HELD, UnitStatus.SOLD], hold__isnull=False)
                | Q(status__in=[UnitStatus.AVAILABLE, UnitStatus.BLOCKED], hold__isnull=True),
                name="unit_held_iff_hold",
            ),
            models.CheckConstraint(
                condition=Q(status=UnitStatus.SOLD, order__isnull=False)
                | (~Q(status=UnitStatus.SOLD) & Q(order__isnull=True)),
                name="unit_sold_iff_order",
            ),
            models.CheckConstraint(condition=Q(price_amount__gte=0), name="unit_price_is_not_negative"),
            models.CheckConstraint(
                condition=Q(starts_at=None) | Q(ends_at=None) | Q(starts_at__lt=F("ends_at")),
                name="unit_starts_before_it_ends",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            # lists, oldest first
            models.Index(fields=["event", "id"], name="unit_by_event"),
            # the units of a hold; without it each deleted hold would scan all units
            models.Index(fields=["hold"], name="unit_by_hold", condition=Q(hold__isnull=False)),
            models.Index(fields=["order"], name="unit_by_order", condition=Q(order__isnull=False)),
            # any-N, with a section and without
            models.Index(
                fields=["event", "section", "spread"],
                name="unit_free_by_section",
                condition=Q(status=UnitStatus.AVAILABLE),
            ),
            models.Index(fields=["event", "spread"], name="unit_free", condition=Q(status=UnitStatus.AVAILABLE)),
        ]

    def __str__(self) -> str:
        return self.label
