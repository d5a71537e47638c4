"""An event: what is sold (a show, a day of slots, a drop). Created by an organizer; ended by closing it."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from tenants.models import TenantModel


class EventKind(models.TextChoices):
    SEATS = "seats"
    SLOTS = "slots"
    ITEMS = "items"


class EventStatus(models.TextChoices):
    DRAFT = "draft"
    ON_SALE = "on_sale"
    PAUSED = "paused"
    CLOSED = "closed"


class PausedReason(models.TextChoices):
    ORGANIZER = "organizer"
    INVARIANT = "invariant"


# each move by the states it may start from; drawn in ARCHITECTURE.md
EVENT_MOVES: Mapping[str, tuple[frozenset[EventStatus], EventStatus]] = {
    "publish": (frozenset({EventStatus.DRAFT}), EventStatus.ON_SALE),
    "pause": (frozenset({EventStatus.ON_SALE}), EventStatus.PAUSED),
    "resume": (frozenset({EventStatus.PAUSED}), EventStatus.ON_SALE),
    "close": (frozenset({EventStatus.ON_SALE, EventStatus.PAUSED}), EventStatus.CLOSED),
}

HOLD_TTL_SECONDS_MIN = 5
HOLD_TTL_SECONDS_MAX = 7200
HOLD_EXTENSIONS_MAX = 10
UNITS_PER_HOLD_MAX = 100
UNITS_PER_CUSTOMER_MAX = 10_000
UNITS_PER_EVENT_MAX = 100_000


def _in_order(first: str, second: str) -> Q:
    return Q(**{f"{first}__isnull": True}) | Q(**{f"{second}__isnull": True}) | Q(**{f"{first}__lt": F(second)})


class Event(TenantModel):
    """Rules of a sale; its units and holds point here."""

    slug = models.SlugField(max_length=100, db_index=False)
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=5, choices=EventKind.choices)
    currency = models.CharField(max_length=3)
    timezone = models.CharField(max_length=64)
    starts_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)
    sales_open_at = models.DateTimeField(null=True, blank=True)
    sales_close_at = models.DateTimeField(null=True, blank=True)
    hold_ttl_seconds = models.PositiveIntegerField(default=600)
    hold_extensions_max = models.PositiveSmallIntegerField(default=2)
    units_per_hold_max = models.PositiveSmallIntegerField(default=10)
    units_per_customer_max = models.PositiveIntegerField(null=True, blank=True)
    status = models.CharField(max_length=7, choices=EventStatus.choices, default=EventStatus.DRAFT, editable=False)
    paused_reason = models.CharField(max_length=9, choices=PausedReason.choices, null=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "slug"], name="event_slug_is_unique_in_its_tenant"),
            models.CheckConstraint(condition=Q(status__in=EventStatus.values), name="event_status_is_known"),
            models.CheckConstraint(condition=Q(kind__in=EventKind.values), name="event_kind_is_known"),
            models.CheckConstraint(
                condition=Q(
                    status=EventStatus.PAUSED, paused_reason__isnull=False, paused_reason__in=PausedReason.values
                )
                | (~Q(status=EventStatus.PAUSED) & Q(paused_reason=None)),
                name="event_has_a_paused_reason_iff_paused",
            ),
            models.CheckConstraint(
                condition=Q(hold_ttl_seconds__range=(HOLD_TTL_SECONDS_MIN, HOLD_TTL_SECONDS_MAX)),
                name="event_hold_ttl_seconds_in_range",
            ),
            models.CheckConstraint(
                condition=Q(hold_extensions_max__lte=HOLD_EXTENSIONS_MAX), name="event_hold_extensions_in_range"
            ),
            models.CheckConstraint(
                condition=Q(units_per_hold_max__range=(1, UNITS_PER_HOLD_MAX)), name="event_units_per_hold_in_range"
            ),
            models.CheckConstraint(
                condition=Q(units_per_customer_max=None) | Q(units_per_customer_max__range=(1, UNITS_PER_CUSTOMER_MAX)),
                name="event_units_per_customer_in_range",
            ),
            models.CheckConstraint(condition=_in_order("starts_at", "ends_at"), name="event_starts_before_it_ends"),
            models.CheckConstraint(
                condition=_in_order("sales_open_at", "sales_close_at"), name="event_sales_open_before_they_close"
            ),
        ]

    def __str__(self) -> str:
        return self.name
