"""The form of an event: times are entered and shown as clocks show them in the event's own zone."""

from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from holdfast.kernel.money import EXPONENTS
from reservations.models import Event, EventKind, EventStatus, Unit, UnitStatus
from reservations.models.event import (
    HOLD_EXTENSIONS_MAX,
    HOLD_TTL_SECONDS_MAX,
    HOLD_TTL_SECONDS_MIN,
    UNITS_PER_CUSTOMER_MAX,
    UNITS_PER_HOLD_MAX,
)
from reservations.operations.events import change_event, create_event
from tenants.admin.base import OperationForm
from tenants.admin.fields import TextField
from tenants.admin.wall_time import WallTimeField, instant, on_the_wall

TIMES = ("starts_at", "ends_at", "sales_open_at", "sales_close_at")
CURRENCIES = sorted(EXPONENTS)
# the last two are whatever the machine is set to, and nothing at all
ZONES = sorted(available_timezones() - {"localtime", "Factory"})

LIMIT_LABELS = {
    "hold_ttl_seconds": "A hold lasts (seconds)",
    "hold_extensions_max": "Extensions of a hold",
    "units_per_hold_max": "Units per hold",
    "units_per_customer_max": "Units per customer",
}


def _choice(names: list[str], **kwargs: Any) -> forms.ChoiceField:
    return forms.ChoiceField(choices=[(name, name) for name in names], widget=UnfoldAdminSelectWidget, **kwargs)


def _whole(low: int, high: int, **kwargs: Any) -> forms.IntegerField:
    limits = [MinValueValidator(low), MaxValueValidator(high)]
    return forms.IntegerField(validators=limits, widget=UnfoldAdminIntegerFieldWidget, **kwargs)


class EventForm(OperationForm):
    """Creates an event, or changes what was changed in the form and nothing else."""

    name = TextField(max_length=200)
    slug = forms.SlugField(
        max_length=100, widget=UnfoldAdminTextInputWidget, help_text="The short name in addresses: winter-gala-2027."
    )
    kind = forms.ChoiceField(choices=EventKind.choices, widget=UnfoldAdminSelectWidget)
    currency = _choice(CURRENCIES, initial="EUR")
    timezone = _choice(ZONES, initial="Europe/Berlin", label="Time zone")
    starts_at = WallTimeField(required=False, label="Starts")
    ends_at = WallTimeField(required=False, label="Ends")
    sales_open_at = WallTimeField(required=False, label="Sales open", help_text="Left empty: at once.")
    sales_close_at = WallTimeField(required=False, label="Sales close", help_text="Left empty: when you close it.")
    hold_ttl_seconds = _whole(
        HOLD_TTL_SECONDS_MIN,
        HOLD_TTL_SECONDS_MAX,
        initial=600,
        label=LIMIT_LABELS["hold_ttl_seconds"],
        help_text=f"{HOLD_TTL_SECONDS_MIN} to {HOLD_TTL_SECONDS_MAX}; 600 is ten minutes.",
    )
    hold_extensions_max = _whole(0, HOLD_EXTENSIONS_MAX, initial=2, label=LIMIT_LABELS["hold_extensions_max"])
    units_per_hold_max = _whole(1, UNITS_PER_HOLD_MAX, initial=10, label=LIMIT_LABELS["units_per_hold_max"])
    units_per_customer_max = _whole(
        1,
        UNITS_PER_CUSTOMER_MAX,
        required=False,
        label=LIMIT_LABELS["units_per_customer_max"],
        help_text="Left empty: no limit.",
    )

    class Meta:
        model = Event
        labels = {**LIMIT_LABELS, "timezone": "Time zone"}  # of the same where it is only read
        fields = [
            *("name", "slug", "kind", "currency", "timezone", *TIMES),
            *("hold_ttl_seconds", "hold_extensions_max", "units_per_hold_max", "units_per_customer_max"),
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        event = self.instance
        if self.is_new:
            for name in TIMES:
                self.fields[name].label = f"{self.fields[name].label} (in the time zone above)"
            return
        for name in TIMES:
            self.initial[name] = on_the_wall(getattr(event, name), ZoneInfo(event.timezone))
            self.fields[name].label = f"{self.fields[name].label} ({event.timezone})"
        self._lock_what_is_settled(event)

    def _lock_what_is_settled(self, event: Event) -> None:
        """Fields that can't change any more are shown, and not taken from what is sent."""
        if event.status != EventStatus.DRAFT:
            self._keep("kind", "currency", because="Only a draft can change this.")
        if Unit.objects.filter(event=event, status__in=[UnitStatus.HELD, UnitStatus.SOLD]).exists():
            self._keep("timezone", because="Units are held or sold: their times stay as they were read.")

    def _keep(self, *names: str, because: str) -> None:
        for name in names:
            self.fields[name].disabled = True
            self.fields[name].help_text = because

    @property
    def _moved(self) -> bool:
        """Whether the zone was changed: then every time is read anew in the new one."""
        return "timezone" in self.changed_data

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if "timezone" not in cleaned:
            return cleaned
        zone = ZoneInfo(cleaned["timezone"])
        for name in TIMES:
            try:
                if name in self.changed_data or self._moved:
                    wall = cleaned.get(name)
                    cleaned[name] = instant(wall, zone) if wall else None
                else:  # the stored instant may be one that its wall time does not tell
                    cleaned[name] = getattr(self.instance, name)
            except ValidationError as error:
                self.add_error(name, error)
        return cleaned

    def written(self) -> set[str]:
        changed = super().written()
        if self._moved:
            return changed | set(TIMES)
        return changed | {"timezone"} if changed & set(TIMES) else changed

    def carry_out(self, tenant_id: UUID) -> Event:
        if self.is_new:
            return create_event(tenant_id=tenant_id, **self.cleaned_data)
        fields = {name: self.cleaned_data[name] for name in self.written()}
        return change_event(tenant_id=tenant_id, event_id=self.instance.id, **fields)
