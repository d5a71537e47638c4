"""What the API shows, for the OpenAPI document; `reservations.queries` makes the JSON itself."""

from typing import Any

from rest_framework import serializers

from reservations.models import (
    EventKind,
    EventStatus,
    FailureReason,
    HoldStatus,
    OrderStatus,
    PausedReason,
    PaymentStatus,
    Provider,
    RefundStatus,
    TicketStatus,
    UnitStatus,
)
from reservations.queries.orders import HAPPENED


class MoneyShown(serializers.Serializer[Any]):
    amount = serializers.IntegerField(help_text="in the currency's minor unit")
    currency = serializers.CharField(help_text="ISO 4217")


class EventShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(EventKind.choices)
    status = serializers.ChoiceField(EventStatus.choices)
    paused_reason = serializers.ChoiceField(
        PausedReason.choices,
        allow_null=True,
        help_text="null unless paused; invariant: HoldFast found something broken",
    )
    currency = serializers.CharField(help_text="ISO 4217")
    timezone = serializers.CharField(help_text="IANA's name")
    starts_at = serializers.DateTimeField(allow_null=True)
    ends_at = serializers.DateTimeField(allow_null=True)
    sales_open_at = serializers.DateTimeField(allow_null=True)
    sales_close_at = serializers.DateTimeField(allow_null=True)
    hold_ttl_seconds = serializers.IntegerField()
    hold_extensions_max = serializers.IntegerField()
    units_per_hold_max = serializers.IntegerField()
    units_per_customer_max = serializers.IntegerField(allow_null=True, help_text="null: no limit")
    created_at = serializers.DateTimeField()


class SectionShown(serializers.Serializer[Any]):
    section = serializers.CharField(allow_null=True)
    total = serializers.IntegerField()
    available = serializers.IntegerField()
    held = serializers.IntegerField()
    sold = serializers.IntegerField()
    blocked = serializers.IntegerField()


class PoolCountShown(serializers.Serializer[Any]):
    pool = serializers.UUIDField()
    name = serializers.CharField()
    total = serializers.IntegerField()
    available = serializers.IntegerField()
    held = serializers.IntegerField()
    sold = serializers.IntegerField()


class AvailabilityShown(serializers.Serializer[Any]):
    event = serializers.UUIDField()
    status = serializers.ChoiceField(EventStatus.choices)
    sections = SectionShown(many=True)
    pools = PoolCountShown(many=True)
    as_of = serializers.DateTimeField()
    max_age_seconds = serializers.IntegerField()


class UnitShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]
    section = serializers.CharField(allow_null=True)
    row = serializers.CharField(allow_null=True)
    number = serializers.CharField(allow_null=True)
    price = MoneyShown()
    status = serializers.ChoiceField(UnitStatus.choices)
    starts_at = serializers.DateTimeField(allow_null=True)
    ends_at = serializers.DateTimeField(allow_null=True)


class UnitsCreated(serializers.Serializer[Any]):
    created = serializers.IntegerField()


class UnitsChanged(serializers.Serializer[Any]):
    changed = serializers.IntegerField()


class ItemShown(serializers.Serializer[Any]):
    unit = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]
    section = serializers.CharField(allow_null=True)
    price = MoneyShown()


class HoldShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    event = serializers.UUIDField()
    status = serializers.ChoiceField(HoldStatus.choices)
    customer = serializers.CharField()
    quantity = serializers.IntegerField()
    items = ItemShown(many=True)
    total = MoneyShown()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    seconds_left = serializers.IntegerField(help_text="0 unless active")
    extensions_left = serializers.IntegerField()
    ended_at = serializers.DateTimeField(allow_null=True, help_text="null while active")
    release_reason = serializers.CharField(allow_null=True)
    order = serializers.UUIDField(allow_null=True)
    metadata = serializers.DictField(help_text="as it was given")


class TicketShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    order = serializers.UUIDField()
    event = serializers.UUIDField()
    unit = serializers.UUIDField(allow_null=True)
    pool = serializers.UUIDField(allow_null=True)
    label = serializers.CharField()  # type: ignore[assignment]
    status = serializers.ChoiceField(TicketStatus.choices)
    serial = serializers.IntegerField(help_text="1, and one more each time that the token was replaced")
    redeemed_at = serializers.DateTimeField(allow_null=True)
    gate = serializers.CharField(allow_null=True)
    token = serializers.CharField(allow_null=True, help_text="lets its holder in; null but in the order's tickets")
    qr_svg_url = serializers.CharField(help_text="its QR code; asks for the API key: a shop passes the image on")


class OrderItemShown(ItemShown):
    refunded = serializers.BooleanField()


class PaymentShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    status = serializers.ChoiceField(PaymentStatus.choices)
    amount = MoneyShown(help_text="what was asked")
    captured = MoneyShown(allow_null=True, help_text="what the provider took; null until it has")
    provider = serializers.ChoiceField(Provider.choices)
    provider_reference = serializers.CharField(allow_null=True)
    decline_code = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class RefundedItemShown(serializers.Serializer[Any]):
    unit = serializers.UUIDField()


class RefundShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    status = serializers.ChoiceField(RefundStatus.choices)
    amount = MoneyShown()
    items = RefundedItemShown(many=True, help_text="empty for money that could not be kept")
    reason = serializers.CharField(allow_null=True)
    restock = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class TimelineShown(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    what = serializers.ChoiceField(HAPPENED)
    payment = serializers.UUIDField(required=False, help_text="of payment_…")
    refund = serializers.UUIDField(required=False, help_text="of refund_…")
    reason = serializers.CharField(required=False, allow_null=True, help_text="of order_failed and order_cancelled")
    decline_code = serializers.CharField(required=False, help_text="of payment_declined, as the provider has it")
    retaken_hold = serializers.UUIDField(
        required=False, help_text="of order_confirmed, where the first hold had ended and another took its units again"
    )


class BuyerShown(serializers.Serializer[Any]):
    name = serializers.CharField(required=False, allow_null=True)
    email = serializers.CharField(required=False, allow_null=True)


class OrderShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    hold = serializers.UUIDField()
    event = serializers.UUIDField()
    status = serializers.ChoiceField(OrderStatus.choices)
    reason = serializers.ChoiceField(FailureReason.choices, allow_null=True, help_text="why it failed")
    customer = serializers.CharField()
    buyer = BuyerShown(allow_null=True)
    total = MoneyShown()
    items = OrderItemShown(many=True)
    payments = PaymentShown(many=True)
    refunds = RefundShown(many=True)
    tickets = TicketShown(many=True)
    timeline = TimelineShown(many=True)
    created_at = serializers.DateTimeField()


class TicketRedeemedShown(serializers.Serializer[Any]):
    ticket = TicketShown()
    redeemed_at = serializers.DateTimeField()
    gate = serializers.CharField(allow_null=True)
