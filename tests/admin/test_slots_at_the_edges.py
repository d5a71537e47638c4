"""Slots at the ends of the calendar, and around a midnight that comes twice."""

from itertools import pairwise

import pytest

from holdfast.kernel.fields import MOMENT_MAX, MOMENT_MIN
from reservations.admin.block_forms import DAY_MAX, DAY_MIN
from tests.admin.test_adding_units import SLOTS, add, faults, units_of

WHOLE_DAYS = SLOTS | {"opens": "00:00", "closes": "00:00", "length": 50, "gap": 0, "side_by_side": 1}


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "UTC", "Pacific/Kiritimati"])
@pytest.mark.parametrize("day", ["0001-01-01", "1890-01-01", "1999-12-31", "2200-01-01", "3000-01-01", "9999-12-31"])
def test_a_day_that_the_api_takes_for_no_unit_is_refused(day, zone, tenant, make_event, sign_in):
    event = make_event(tenant, kind="slots", timezone=zone)
    answer = add(sign_in(tenant), event, WHOLE_DAYS | {"first_day": day, "last_day": day})
    assert f"{DAY_MIN} and {DAY_MAX}" in faults(answer)
    assert units_of(tenant) == []


@pytest.mark.parametrize("zone", ["Pacific/Pago_Pago", "UTC", "Pacific/Kiritimati"])
@pytest.mark.parametrize("day", [DAY_MIN, DAY_MAX])
def test_the_first_day_and_the_last_have_slots_that_the_api_takes(day, zone, tenant, make_event, sign_in):
    event = make_event(tenant, kind="slots", timezone=zone)
    add(sign_in(tenant), event, WHOLE_DAYS | {"first_day": day, "last_day": day})
    units = units_of(tenant)
    assert len(units) == 28
    assert all(MOMENT_MIN <= moment < MOMENT_MAX for unit in units for moment in (unit.starts_at, unit.ends_at))


@pytest.mark.parametrize(
    ("zone", "eve", "day"),
    [("America/Havana", "2027-11-06", "2027-11-07"), ("Atlantic/Azores", "2027-10-30", "2027-10-31")],
)
@pytest.mark.parametrize("opens", ["00:00", "09:00"])
def test_where_midnight_comes_twice_no_two_slots_overlap(opens, zone, eve, day, tenant, make_event, sign_in):
    """Nor do they where each day is added by itself."""
    event, browser = make_event(tenant, kind="slots", timezone=zone), sign_in(tenant)
    add(browser, event, WHOLE_DAYS | {"first_day": eve, "last_day": eve, "opens": opens})
    add(browser, event, WHOLE_DAYS | {"first_day": day, "last_day": day})
    slots = sorted(units_of(tenant), key=lambda unit: unit.starts_at)
    assert {slot.row for slot in slots} == {eve, day}
    overlapping = [f"{one.label} and {two.label}" for one, two in pairwise(slots) if one.ends_at > two.starts_at]
    assert overlapping == []
    assert sum(slot.row == day for slot in slots) == 25 * 60 / 50
