"""The form of one unit."""

from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError

from holdfast.kernel.errors import Conflict
from reservations.admin.fields import PriceField
from reservations.models import Unit
from reservations.operations.unit_changes import change_unit
from tenants.admin.base import OperationForm
from tenants.admin.fields import TextField
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
        self.fields["price_amount"] = PriceField(currency=event.currency, show_hidden_initial=True)
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

    def _shown_of_the_event(self, name: str) -> str:
        """The event's currency or zone as the page showed it."""
        return str(self.data.get(f"initial-{name}", getattr(self.instance.event, name)))

    def carry_out(self, tenant_id: UUID) -> Unit:
        fields = {name: self.cleaned_data[name] for name in self.changed_data}
        if set(TIMES) & set(fields) and self._shown_of_the_event("timezone") != self.zone.key:
            raise Conflict(f"The event's time zone is {self.zone.key} now: look at the times again.")
        currency = self._shown_of_the_event("currency")
        return change_unit(tenant_id=tenant_id, unit_id=self.instance.id, price_currency=currency, **fields)
