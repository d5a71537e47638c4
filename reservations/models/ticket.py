"""A ticket: what a paid unit turns into, used once. Issued in the transaction that confirms its order.

valid → redeemed
valid | redeemed → void (refunded) → valid | redeemed (the provider refused the refund)
"""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from reservations.models.event import Event
from reservations.models.order import Order
from reservations.models.refund import Refund
from reservations.models.unit import Unit
from tenants.models import TenantModel


class TicketStatus(models.TextChoices):
    VALID = "valid"
    REDEEMED = "redeemed"
    VOID = "void"


class Ticket(TenantModel):
    """Void exactly while a refund has it. `returned` says that the unit went back with the money. `serial` is part of
    the token: the next one makes all earlier tokens of the ticket worthless."""

    GATE_LENGTH_MAX = 60

    order = models.ForeignKey(Order, models.PROTECT, db_constraint=False, related_name="tickets")
    event = models.ForeignKey(Event, models.PROTECT, db_constraint=False, db_index=False, related_name="tickets")
    unit = models.ForeignKey(Unit, models.PROTECT, db_constraint=False, related_name="tickets")
    label = models.CharField(max_length=Unit.LABEL_LENGTH_MAX)
    section = models.CharField(max_length=Unit.PLACE_LENGTH_MAX, blank=True, default="")
    price_amount = models.BigIntegerField()
    status = models.CharField(max_length=8, choices=TicketStatus.choices, default=TicketStatus.VALID)
    redeemed_at = models.DateTimeField(null=True)
    gate = models.CharField(max_length=GATE_LENGTH_MAX, blank=True, default="")
    refund: "models.ForeignKey[Refund | None, Refund | None]" = models.ForeignKey(
        Refund, models.PROTECT, null=True, db_constraint=False, related_name="tickets"
    )
    returned = models.BooleanField(default=False)
    serial = models.PositiveSmallIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.CheckConstraint(condition=Q(status__in=TicketStatus.values), name="ticket_status_is_known"),
            models.CheckConstraint(condition=Q(price_amount__gte=0), name="ticket_price_is_not_negative"),
            models.CheckConstraint(
                condition=Q(status=TicketStatus.VOID, refund__isnull=False)
                | (~Q(status=TicketStatus.VOID) & Q(refund=None, returned=False)),
                name="ticket_void_iff_refund",
            ),
            models.CheckConstraint(
                condition=Q(status=TicketStatus.VALID, redeemed_at=None)
                | Q(status=TicketStatus.REDEEMED, redeemed_at__isnull=False)
                | Q(status=TicketStatus.VOID),
                name="ticket_redeemed_iff_it_says_when",
            ),
            # a unit whose refund still runs has not come back yet, and can't be sold again
            models.UniqueConstraint(fields=["unit"], condition=Q(returned=False), name="unit_is_sold_once"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["event", "id"], name="ticket_by_event"),
        ]

    def __str__(self) -> str:
        return self.label
