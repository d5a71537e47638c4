"""Holds: who has a claim on what, and for how long still."""

import re

import pytest

from tests.admin.conftest import page
from tests.reservations.state import release, sell

LIST = "reservations_hold_changelist"


def listed(browser, **query) -> list[str]:
    """The customers that a list shows."""
    return [hold.customer for hold in browser.get(page(LIST, **query)).context["cl"].result_list]


def test_a_hold_is_shown_with_its_units_its_total_and_its_time(tenant, furnish, sign_in):
    furnish(tenant)
    text = sign_in(tenant).get(page(LIST)).content.decode()
    for part in ("grace@example.org", "A-1", "25.00 EUR", "active", "reservations/countdown.js"):
        assert part in text, part
    seconds, shown = re.search(r'role="timer" data-seconds-left="([\d.]+)">(\d+:\d\d)<', text).groups()
    assert 590 < float(seconds) <= 600
    assert shown.startswith("9:") or shown == "10:00"


def test_a_lapsed_hold_reads_expired(tenant, furnish, sign_in, shift_clock):
    furnish(tenant)
    browser = sign_in(tenant)
    assert (listed(browser, state="active"), listed(browser, state="expired")) == (["grace@example.org"], [])
    shift_clock(601)
    assert (listed(browser, state="active"), listed(browser, state="expired")) == ([], ["grace@example.org"])
    text = browser.get(page(LIST)).content.decode()
    assert "data-seconds-left" not in text


@pytest.mark.parametrize(("end", "state"), [(sell, "converted"), (release, "released")])
def test_a_hold_that_ended_is_found_by_its_state(end, state, tenant, furnish, sign_in):
    place = furnish(tenant)
    end(tenant.id, place.hold.id)
    browser = sign_in(tenant)
    assert (listed(browser, state="active"), listed(browser, state=state)) == ([], ["grace@example.org"])


def test_a_search_finds_customers_and_labels(tenant, make_event, make_units, make_hold, sign_in):
    event = make_event(tenant)
    make_units(tenant, event, labels=["A-1", "A-11", "A-2"])
    make_hold(tenant, event, ["A-1", "A-2"], customer="Grace@Example.org")
    make_hold(tenant, event, ["A-11"], customer="alan@example.org")
    browser = sign_in(tenant)
    assert listed(browser, q="grace@") == ["Grace@Example.org"]
    assert listed(browser, q="A-1") == ["Grace@Example.org"]
    assert listed(browser, q="A-11") == ["alan@example.org"]
    assert listed(browser, q="nobody") == []


def test_a_hold_of_another_event_is_left_out(tenant, furnish, make_event, sign_in):
    place = furnish(tenant)
    other = make_event(tenant)
    browser = sign_in(tenant)
    assert listed(browser, event=place.event.id) == ["grace@example.org"]
    assert listed(browser, event=other.id) == []


def test_a_hold_has_a_page_without_a_form(tenant, furnish, sign_in):
    place = furnish(tenant)
    text = sign_in(tenant).get(page("reservations_hold_change", place.hold.id)).content.decode()
    assert "25.00 EUR" in text
    assert 'name="_save"' not in text
