"""The form of one unit."""

from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError

from reservations.admin.fields import PriceField, TextField
from reservations.models import Unit
from reservations.operations.unit_changes import change_unit
from tenants.admin.base import OperationForm
from tenants.admin.wall_time import WallTimeField, instant, on_the_wall

TIMES = ("starts_at", "ends_at")


class UnitForm(OperationForm):
    """Changes what was changed in the form; refused for a unit that is held or sold by then."""

    label = TextField(max_length=Unit.LABEL_LENGTH_MAX)
    section = TextField(max_length=Unit.PLACE_LENGTH_MAX, required=False)
    row = TextField(max_length=Unit.PLACE_LENGTH_MAX, required=False)
    number = TextField(max_length=Unit.PLACE_LENGTH_MAX, required=False)
    price_amount = PriceField(currency="EUR")
    starts_at = WallTimeField(required=False)
    ends_at = WallTimeField(required=False)

    class Meta:
        model = Unit
        fields = ["label", "section", "row", "number", "price_amount", "starts_at", "ends_at"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        event = self.instance.event
        self.zone = ZoneInfo(event.timezone)
        self.fields["price_amount"] = PriceField(currency=event.currency)
        for name, label in zip(TIMES, ("Starts", "Ends"), strict=True):
            self.initial[name] = on_the_wall(getattr(self.instance, name), self.zone)
            self.fields[name].label = f"{label} ({event.timezone})"

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name in set(TIMES) & set(self.changed_data) & set(cleaned):
            try:
                cleaned[name] = instant(cleaned[name], self.zone) if cleaned[name] else None
            except ValidationError as error:
                self.add_error(name, error)
        return cleaned

    def carry_out(self, tenant_id: UUID) -> Unit:
        fields = {name: self.cleaned_data[name] for name in self.changed_data}
        return change_unit(tenant_id=tenant_id, unit_id=self.instance.id, **fields)
