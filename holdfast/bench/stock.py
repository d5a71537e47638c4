"""What is sold in a run: events on sale and their units, made by the operations, and the bodies that ask for them."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connections

from holdfast.kernel.ids import new_id
from reservations.models import Hold, Unit
from reservations.operations.events import create_event, publish_event
from reservations.operations.units import NewUnit, create_units

UNITS_A_CALL = 5_000
ROW_UNITS = 100
# bodies that a timed load sends over and over
BODIES = 2_000


@dataclass(frozen=True, slots=True)
class Stock:
    """Events on sale, each with `units_each` units labelled U-0, U-1 and so on."""

    event_ids: tuple[UUID, ...]
    units_each: int

    def any_bodies(self, count: int = BODIES) -> list[dict[str, Any]]:
        """One unit, whichever; each for another customer, the events in turn."""
        return [
            {"event": str(self.event_ids[number % len(self.event_ids)]), "quantity": 1, "customer": customer(number)}
            for number in range(count)
        ]

    def named_bodies(self, count: int) -> list[dict[str, Any]]:
        """One unit by its label; the labels of the first event in turn, so that many ask for each."""
        return [
            {
                "event": str(self.event_ids[0]),
                "labels": [f"U-{number % self.units_each}"],
                "customer": customer(number),
            }
            for number in range(count)
        ]


def customer(number: int) -> str:
    return f"buyer-{number}@example.org"


def make_stock(tenant_id: UUID, *, events: int, units_each: int) -> Stock:
    """New events with all units available, their tables in the state that autovacuum would leave them in."""
    stock = Stock(tuple(_event(tenant_id, units_each) for _ in range(events)), units_each)
    tidy()
    return stock


def _event(tenant_id: UUID, units: int) -> UUID:
    event = create_event(
        tenant_id=tenant_id,
        slug=f"bench-{new_id()}",
        name="Bench",
        kind="seats",
        currency="EUR",
        timezone="UTC",
        hold_ttl_seconds=7200,
    )
    made = [NewUnit(label=f"U-{number}", row=str(number // ROW_UNITS), price_amount=2500) for number in range(units)]
    for start in range(0, units, UNITS_A_CALL):
        create_units(tenant_id=tenant_id, event_id=event.id, units=made[start : start + UNITS_A_CALL])
    publish_event(tenant_id=tenant_id, event_id=event.id)
    return event.id


def tidy() -> None:
    """Vacuum and analyze, as the peers' schemas do after their load: else a run would depend on autovacuum's timing."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(f"VACUUM (ANALYZE) {Unit._meta.db_table}, {Hold._meta.db_table}")
