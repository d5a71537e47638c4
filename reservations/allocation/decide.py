"""Who gets what, decided in memory in the order of arrival, from rows that are already locked. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from holdfast.kernel.errors import FieldError, Invalid
from reservations.errors import LimitExceeded, NotOnSale, UnavailableUnit, UnitsUnavailable

AVAILABLE, HELD = "available", "held"


class LockedUnit(Protocol):
    """What deciding needs of a unit's row."""

    @property
    def id(self) -> UUID: ...
    @property
    def event_id(self) -> UUID: ...
    @property
    def label(self) -> str: ...
    @property
    def status(self) -> str: ...


class Rules(Protocol):
    """What deciding needs of an event's row; `now` is the database's time as it was read."""

    status: str
    sales_open_at: datetime | None
    sales_close_at: datetime | None
    units_per_hold_max: int
    units_per_customer_max: int | None
    hold_ttl_seconds: int
    now: datetime


class Request(Protocol):
    """What deciding needs of a request."""

    @property
    def event_id(self) -> UUID: ...
    @property
    def unit_ids(self) -> tuple[UUID, ...]: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def size(self) -> int: ...
    @property
    def ttl_seconds(self) -> int | None: ...


def refuse_by_rules(request: Request, rules: Rules | None) -> None:
    """What needs no unit's row. Raises Invalid (unknown event, a term too long), NotOnSale, LimitExceeded."""
    if rules is None:
        raise Invalid.at("/event", "unknown", "There is no such event.")
    if request.ttl_seconds is not None and request.ttl_seconds > rules.hold_ttl_seconds:
        detail = f"Must be at most the event's hold_ttl_seconds, {rules.hold_ttl_seconds}."
        raise Invalid.at("/ttl_seconds", "max_value", detail)
    if reason := _why_not_on_sale(rules):
        raise NotOnSale(reason)
    if request.size > rules.units_per_hold_max:
        raise LimitExceeded(rule="units_per_hold", limit=rules.units_per_hold_max, in_use=0, requested=request.size)


def _why_not_on_sale(rules: Rules) -> str | None:
    if rules.status != "on_sale":
        return rules.status
    if rules.sales_open_at and rules.now < rules.sales_open_at:
        return "not_open_yet"
    if rules.sales_close_at and rules.now >= rules.sales_close_at:
        return "window_over"
    return None


@dataclass(slots=True)
class Table[U: LockedUnit, D]:
    """The locked rows that a batch shares out: named units by id and by label, free units by demand; and what each
    customer of a limited event has in use. Whoever comes first takes from it."""

    by_id: dict[UUID, U] = field(default_factory=dict)
    by_label: dict[tuple[UUID, str], U] = field(default_factory=dict)
    free: dict[D, list[U]] = field(default_factory=dict)
    in_use: dict[object, int] = field(default_factory=dict)
    taken: set[UUID] = field(default_factory=set)

    def lay_named(self, units: Iterable[U]) -> None:
        for unit in units:
            self.by_id[unit.id] = unit
            self.by_label[unit.event_id, unit.label] = unit

    def take_named(self, request: Request) -> list[U]:
        """All the units that the request names. Raises Invalid for unknown ones, UnitsUnavailable naming each other."""
        units = self._named(request)
        refused = [
            UnavailableUnit(unit.id, unit.label, HELD if unit.id in self.taken else unit.status)
            for unit in units
            if unit.id in self.taken or unit.status != AVAILABLE
        ]
        if refused:
            raise UnitsUnavailable(refused)
        self.taken.update(unit.id for unit in units)
        return units

    def _named(self, request: Request) -> list[U]:
        if request.unit_ids:
            found = [self.by_id.get(unit_id) for unit_id in request.unit_ids]
            kind, names = "units", [str(unit_id) for unit_id in request.unit_ids]
        else:
            found = [self.by_label.get((request.event_id, label)) for label in request.labels]
            kind, names = "labels", list(request.labels)
        unknown = [
            FieldError(f"/{kind}/{index}", "unknown", f"The event has no unit {names[index]}.")
            for index, unit in enumerate(found)
            if unit is None or unit.event_id != request.event_id
        ]
        if unknown:
            raise Invalid(unknown)
        return [unit for unit in found if unit is not None]

    def take_any(self, demand: D, quantity: int) -> list[U] | None:
        """That many free units, or None where fewer are left on the table."""
        left = self.free.get(demand, [])
        if len(left) < quantity:
            return None
        units, self.free[demand] = left[:quantity], left[quantity:]
        self.taken.update(unit.id for unit in units)
        return units

    def refuse_over_allowance(self, allowance: object, limit: int | None, requested: int) -> None:
        """Raises LimitExceeded where the customer would have more than the event allows."""
        in_use = self.in_use.get(allowance, 0)
        if limit is not None and in_use + requested > limit:
            raise LimitExceeded(rule="units_per_customer", limit=limit, in_use=in_use, requested=requested)

    def use_allowance(self, allowance: object, quantity: int) -> None:
        self.in_use[allowance] = self.in_use.get(allowance, 0) + quantity
