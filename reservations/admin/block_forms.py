"""Forms that describe many units at once: a block of seats, a run of items, days of slots."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.http import QueryDict
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget

from holdfast.kernel.fields import MOMENT_MAX, MOMENT_MIN
from reservations.admin import seats, slots
from reservations.admin.fields import PriceField
from reservations.models import Event, EventKind, Unit
from reservations.operations.units import NewUnit
from tenants.admin.fields import TextField

NUMBER_MAX = 100_000
MINUTES_MAX = 24 * 60
SIDE_BY_SIDE_MAX = 500
# days that begin and end at moments which the API takes, in every zone: no zone is a day away from UTC
DAY_MIN = MOMENT_MIN.date() + timedelta(days=1)
DAY_MAX = MOMENT_MAX.date() - timedelta(days=2)
OUT_OF_RANGE = f"Must lie between {DAY_MIN} and {DAY_MAX}."


def _number(low: int, high: int, **kwargs: Any) -> forms.IntegerField:
    return forms.IntegerField(min_value=low, max_value=high, widget=UnfoldAdminIntegerFieldWidget, **kwargs)


def _day(label: str) -> forms.DateField:
    bounds = [MinValueValidator(DAY_MIN, OUT_OF_RANGE), MaxValueValidator(DAY_MAX, OUT_OF_RANGE)]
    return forms.DateField(label=label, validators=bounds, widget=UnfoldAdminTextInputWidget(attrs={"type": "date"}))


def _time(label: str, help_text: str = "") -> forms.TimeField:
    return forms.TimeField(label=label, help_text=help_text, widget=UnfoldAdminTextInputWidget(attrs={"type": "time"}))


class BlockForm(forms.Form):
    """Many units of one event; once valid, `units` are those it describes.

    `currency` is the one that the page showed beside the price: where the event's has changed since, it is not taken.
    """

    data: QueryDict
    currency = forms.CharField(required=False, widget=forms.HiddenInput)
    section = TextField(max_length=Unit.PLACE_LENGTH_MAX, required=False, help_text="May stay empty.")

    def __init__(self, event: Event, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.event = event
        self.initial["currency"] = event.currency
        self.units: list[NewUnit] = []
        self.fields["price"] = PriceField(currency=event.currency, initial=0)

    def described(self) -> Iterator[NewUnit]:
        """The units, as many as there are. Called with fields that are valid each on its own."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        self._refuse_another_currency()
        if self.errors:
            return cleaned
        described = islice(self.described(), seats.UNITS_PER_CALL_MAX + 1)
        self.units = [replace(unit, price_currency=self.event.currency) for unit in described]
        if not self.units:
            raise ValidationError("That makes no unit at all.", code="none")
        if len(self.units) > seats.UNITS_PER_CALL_MAX:
            raise ValidationError(
                f"That makes more than {seats.UNITS_PER_CALL_MAX:,} units, the most at a time: make it in parts.",
                code="too_many",
            )
        self._refuse_long_labels()
        return cleaned

    def _refuse_another_currency(self) -> None:
        """Sent once more, the form means the currency that it is shown with now."""
        now, shown = self.event.currency, self.cleaned_data.get("currency") or self.event.currency
        if shown == now:
            return
        self.add_error("price", f"The event sells in {now} now, not in {shown}: look at the price again.")
        self.data = self.data.copy()
        self.data["currency"] = now

    def _refuse_long_labels(self) -> None:
        longest = max((unit.label for unit in self.units), key=len)
        if len(longest) > Unit.LABEL_LENGTH_MAX:
            raise ValidationError(f"“{longest}” is longer than a label can be ({Unit.LABEL_LENGTH_MAX}).", code="long")
        if not all(unit.label for unit in self.units):
            raise ValidationError("The pattern leaves a label empty.", code="empty")


class SeatsForm(BlockForm):
    """Rows of numbered seats."""

    rows = TextField(max_length=200, help_text="A-F, 1-10 or a list: A, B, BB.")
    first = _number(0, NUMBER_MAX, initial=1, label="Numbers from")
    last = _number(0, NUMBER_MAX, initial=20, label="to")
    pattern = TextField(
        max_length=100,
        initial="{section} {row}-{number}",
        label="Label",
        help_text="Labels must differ within the event, so name the section where rows repeat.",
    )
    field_order = ["section", "rows", "first", "last", "price", "pattern"]

    def clean_rows(self) -> list[str]:
        try:
            return seats.parse_rows(self.cleaned_data["rows"])
        except ValueError as error:
            raise ValidationError(str(error), code="rows") from error

    def clean_pattern(self) -> str:
        pattern: str = self.cleaned_data["pattern"]
        try:
            seats.check_pattern(pattern)
        except ValueError as error:
            raise ValidationError(str(error), code="pattern") from error
        return pattern

    def described(self) -> Iterator[NewUnit]:
        fields = self.cleaned_data
        return seats.seats(
            section=fields["section"],
            rows=fields.get("rows") or [""],
            numbers=range(fields["first"], fields["last"] + 1),
            price_amount=fields["price"],
            pattern=fields["pattern"],
        )


class ItemsForm(SeatsForm):
    """Numbered items."""

    rows = None  # type: ignore[assignment]
    pattern = TextField(max_length=100, initial="{section} {number}", label="Label")


class SlotsForm(BlockForm):
    """Days of appointment slots, in the event's zone."""

    first_day = _day("Days from")
    last_day = _day("to")
    opens = _time("Opens")
    closes = _time("Closes", "00:00 is midnight at the end of the day.")
    length = _number(1, MINUTES_MAX, initial=30, label="Length (minutes)")
    gap = _number(0, MINUTES_MAX, initial=0, label="Gap between slots (minutes)")
    side_by_side = _number(1, SIDE_BY_SIDE_MAX, initial=1, label="Places per slot", help_text="Units at the same time.")

    def clean(self) -> dict[str, Any]:
        days = self.cleaned_data.get("first_day"), self.cleaned_data.get("last_day")
        if days[0] and days[1] and not 0 <= (days[1] - days[0]).days < slots.DAYS_MAX:
            self.add_error("last_day", f"Must be the same day or later, and within {slots.DAYS_MAX} days.")
        opens, closes = self.cleaned_data.get("opens"), self.cleaned_data.get("closes")
        if opens and closes is not None and closes <= opens and closes.isoformat() != "00:00:00":
            self.add_error("closes", "Must be later than it opens.")
        return super().clean()

    def described(self) -> Iterator[NewUnit]:
        fields = self.cleaned_data
        timetable = slots.Timetable(
            zone=ZoneInfo(self.event.timezone),
            **{name: fields[name] for name in ("first_day", "last_day", "opens", "closes", "side_by_side")},
            length=timedelta(minutes=fields["length"]),
            gap=timedelta(minutes=fields["gap"]),
        )
        return timetable.units(section=fields["section"], price_amount=fields["price"])


FORMS: dict[str, type[BlockForm]] = {
    EventKind.SEATS: SeatsForm,
    EventKind.SLOTS: SlotsForm,
    EventKind.ITEMS: ItemsForm,
}
