"""Appointment slots: days, opening times and a length, as real instants of a zone. Reads no row.

A day's slots follow each other in real time, from the first instant of its opening time to the last of its closing
time, and end before the next day begins, which it does at the first of two midnights. So a change of the clocks makes
no slot in the hour that is skipped, makes two sets in the hour that comes twice, and never lets two slots overlap.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from reservations.operations.units import NewUnit

DAYS_MAX = 366


@dataclass(frozen=True, slots=True)
class Timetable:
    """Which days, from when to when (midnight closes the day), how long, how far apart, and how many side by side."""

    zone: ZoneInfo
    first_day: date
    last_day: date
    opens: time
    closes: time
    length: timedelta
    gap: timedelta
    side_by_side: int

    def starts(self) -> Iterator[datetime]:
        """When each slot begins, in UTC."""
        for number in range((self.last_day - self.first_day).days + 1):
            day = self.first_day + timedelta(days=number)
            begins = edge(datetime.combine(day, self.opens), self.zone, fold=0)
            closes = edge(datetime.combine(day + timedelta(days=1), time()), self.zone, fold=0)
            if self.closes > self.opens:
                closes = min(closes, edge(datetime.combine(day, self.closes), self.zone, fold=1))
            while begins + self.length <= closes:
                yield begins
                begins += self.length + self.gap

    def units(self, *, section: str, price_amount: int) -> Iterator[NewUnit]:
        """The units of all slots, in order of time."""
        for begins in self.starts():
            for place in range(1, self.side_by_side + 1):
                name = slot_name(begins, self.zone)
                number = f" #{place}" if self.side_by_side > 1 else ""
                yield NewUnit(
                    label=f"{section} {name}{number}".strip(),
                    section=section,
                    row=name[:10],
                    number=name[11:],
                    price_amount=price_amount,
                    starts_at=begins,
                    ends_at=begins + self.length,
                )


def edge(wall: datetime, zone: ZoneInfo, *, fold: int) -> datetime:
    """The instant of a wall time, in UTC: of two, the first (fold 0) or the second (fold 1); of none, the instant at
    which the clocks jump over it."""
    early, late = (wall.replace(tzinfo=zone, fold=side).astimezone(UTC) for side in (1, 0))
    if early >= late:  # the usual case, and a time that comes twice: fold 1 is the later instant
        return early if fold else late
    while late - early > timedelta(seconds=1):  # skipped: the jump lies between the two readings
        middle = early + (late - early) / 2
        if middle.astimezone(zone).replace(tzinfo=None) < wall:
            early = middle
        else:
            late = middle
    return late.replace(microsecond=0)


def slot_name(begins: datetime, zone: ZoneInfo) -> str:
    """`2027-03-28 09:00`; with the offset from UTC where the clocks show that time twice."""
    local = begins.astimezone(zone)
    name = local.strftime("%Y-%m-%d %H:%M")
    other = local.replace(fold=1 - local.fold)
    return f"{name}{local.strftime('%:z')}" if other.utcoffset() != local.utcoffset() else name
