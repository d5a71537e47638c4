"""Times as a clock on the wall shows them, and the instants they stand for in a zone.

A form takes and shows wall times; what is stored are instants. Around a change of the clocks a wall time may stand for
no instant, or for two: both are refused, since a guess would move someone's show by an hour.
"""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextInputWidget

YEAR_MIN = 2000
YEAR_MAX = 2199


def instant(wall: datetime, zone: ZoneInfo) -> datetime:
    """The instant of a naive wall time, in UTC. Raises ValidationError where there is none, or two."""
    first, second = (wall.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    before, after = first.utcoffset(), second.utcoffset()
    if before == after:
        return first.astimezone(UTC)
    when = wall.strftime("%H:%M on %d %B %Y")
    if before is not None and after is not None and before < after:
        raise ValidationError(f"{when} does not exist in {zone.key}: the clocks go forward over it.", code="skipped")
    raise ValidationError(f"{when} happens twice in {zone.key}: the clocks go back over it.", code="repeated")


def on_the_wall(moment: datetime | None, zone: ZoneInfo) -> datetime | None:
    """The naive wall time of an instant, to the second."""
    return moment.astimezone(zone).replace(tzinfo=None, microsecond=0) if moment else None


def shown(moment: datetime | None, zone: ZoneInfo) -> str:
    """The instant as people of that zone read it, with its offset named: `2027-03-28 19:00 CEST`."""
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M %Z") if moment else ""


def shown_to_the_second(moment: datetime | None, zone: ZoneInfo) -> str:
    """The same with seconds, for things that last minutes: `2027-03-28 19:00:05 CEST`."""
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S %Z") if moment else ""


class WallTimeField(forms.Field):
    """A date and a time of day without a zone; the form knows which zone it is."""

    widget = UnfoldAdminTextInputWidget
    default_error_messages = {"invalid": "Enter a date and a time: 2027-03-28T19:00."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.widget.input_type = "datetime-local"

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, datetime):
            return value
        return value.isoformat(timespec="seconds" if value.second else "minutes")

    def to_python(self, value: Any) -> datetime | None:
        if value in self.empty_values:
            return None
        if isinstance(value, datetime):
            return value
        try:
            wall = datetime.fromisoformat(value)
        except ValueError:
            wall = None
        if wall is None or wall.tzinfo or "T" not in value.upper().replace(" ", "T"):
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        if not YEAR_MIN <= wall.year <= YEAR_MAX:
            raise ValidationError(f"Must lie between the years {YEAR_MIN} and {YEAR_MAX}.", code="out_of_range")
        return wall.replace(microsecond=0)

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(self.to_python(data) != initial)
        except ValidationError:
            return True
