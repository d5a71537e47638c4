"""A hold has the very units it promises, not merely as many."""

from collections.abc import Iterator

import pytest

from reservations.invariants.checker import breaches
from reservations.invariants.watch import watch
from tests.contract.sale import Sale
from tests.reservations.test_kill_switch import HAS_ITS_UNITS, broken, by_hand, mend, sale, shown

__all__ = ["sale"]
HOLD = "(SELECT hold_id FROM reservations_unit WHERE label = 'U-1')"
SWAPPED = [
    f"UPDATE reservations_unit SET status = 'held', hold_id = {HOLD} WHERE label = 'U-2'",  # noqa: S608 - constants
    "UPDATE reservations_unit SET status = 'available', hold_id = NULL WHERE label = 'U-1'",
]
BROKEN = {
    "has another unit than it promises": SWAPPED,
    "promises no unit by name": ["UPDATE reservations_hold SET items = '[]'"],
    "promises a unit of nobody": [
        "UPDATE reservations_hold SET items = jsonb_set(items, '{0,unit}', to_jsonb(gen_random_uuid()::text))"
    ],
}


@pytest.fixture(autouse=True)
def mended(sale: Sale) -> Iterator[None]:
    yield
    mend(sale)
    assert not any(breaches(sale.tenant.id).values())


@pytest.mark.parametrize("name", BROKEN)
def test_a_hold_that_does_not_have_what_it_names_stops_the_sale(sale: Sale, name: str) -> None:
    by_hand(sale.tenant, *BROKEN[name])
    assert broken(sale) == {HAS_ITS_UNITS}
    watch()
    assert shown(sale)["paused_reason"] == "invariant"
