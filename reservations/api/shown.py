"""What the API shows, for the OpenAPI document; `reservations.queries` makes the JSON itself."""

from typing import Any

from rest_framework import serializers

from reservations.models import EventKind, EventStatus, HoldStatus, PausedReason, UnitStatus


class MoneyShown(serializers.Serializer[Any]):
    amount = serializers.IntegerField(help_text="in the currency's minor unit")
    currency = serializers.CharField(help_text="ISO 4217")


class EventShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(EventKind.choices)
    status = serializers.ChoiceField(EventStatus.choices)
    paused_reason = serializers.ChoiceField(PausedReason.choices, allow_null=True)
    currency = serializers.CharField()
    timezone = serializers.CharField()
    starts_at = serializers.DateTimeField(allow_null=True)
    ends_at = serializers.DateTimeField(allow_null=True)
    sales_open_at = serializers.DateTimeField(allow_null=True)
    sales_close_at = serializers.DateTimeField(allow_null=True)
    hold_ttl_seconds = serializers.IntegerField()
    hold_extensions_max = serializers.IntegerField()
    units_per_hold_max = serializers.IntegerField()
    units_per_customer_max = serializers.IntegerField(allow_null=True)
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
    seconds_left = serializers.IntegerField()
    extensions_left = serializers.IntegerField()
    ended_at = serializers.DateTimeField(allow_null=True)
    release_reason = serializers.CharField(allow_null=True)
    order = serializers.UUIDField(allow_null=True)
    metadata = serializers.DictField()
