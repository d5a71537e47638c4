"""Stuck orders have their own list: since when, at what, and what HoldFast does next by itself."""

import re
from html import unescape

import pytest

from reservations.checkout.claim_refund import RefundWish
from reservations.checkout.refunds import begin_refund
from tests.admin.conftest import page

LIST = "reservations_order_changelist"
STUCK = page(LIST, stuck="yes")


@pytest.fixture
def event(tenant, make_event):
    return make_event(tenant)


def stuck(browser) -> dict[str, str]:
    """The customers of the list, each with the text of their row."""
    text = unescape(browser.get(STUCK).content.decode())
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", text, re.DOTALL)
    by_customer = ((re.search(r"[a-z]+@example\.org", row), re.sub(r"<[^>]*>|\s+", " ", row)) for row in rows)
    return {found.group(): re.sub(" +", " ", row) for found, row in by_customer if found}


def in_sidebar(browser) -> int:
    """The count beside the list's name, on a page of something else."""
    text = browser.get(page("reservations_event_changelist")).content.decode()
    entry = text[text.index("Stuck orders") :]
    found = re.match(r'Stuck orders</span>\s*(?:<span class="sidebar-badge[^>]*>\s*(\d+))?', entry)
    return int(found.group(1) or 0)


def test_an_order_is_stuck_after_five_minutes_and_not_before_but_a_review_at_once(
    tenant, event, make_order, sign_in, shift_clock
):
    make_order(tenant, event, ["A-1"], "tok_ok", customer="paid@example.org")
    make_order(tenant, event, ["A-2"], "tok_declined", customer="declined@example.org")
    make_order(tenant, event, ["A-3"], "tok_error_500", customer="unknown@example.org")
    make_order(tenant, event, ["A-4"], "tok_wrong_amount", customer="review@example.org")
    refunded = make_order(tenant, event, ["A-5"], customer="refunded@example.org")
    begin_refund(tenant_id=tenant.id, wish=RefundWish(refunded.id))
    browser = sign_in(tenant, "viewer")
    for seconds in (0, 290):
        shift_clock(seconds)
        assert (set(stuck(browser)), in_sidebar(browser)) == ({"review@example.org"}, 1)
    shift_clock(20)
    rows = stuck(browser)
    assert set(rows) == {"unknown@example.org", "review@example.org", "refunded@example.org"}
    assert in_sidebar(browser) == 3
    assert "the provider has not said what became of the charge" in rows["unknown@example.org"]
    assert re.search(r"Asks Mock what became of it, .+\.", rows["unknown@example.org"])
    assert "it waits for an owner or a manager" in rows["review@example.org"]
    assert "money is on its way back" in rows["refunded@example.org"]
    assert "as soon as a worker of payments is free" in rows["refunded@example.org"]
    assert all(re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d CES?T", row) for row in rows.values())


def test_the_list_of_all_orders_says_nothing_of_it(tenant, event, make_order, sign_in):
    make_order(tenant, event, ["A-1"], "tok_wrong_amount")
    text = sign_in(tenant).get(page(LIST)).content.decode()
    assert "grace@example.org" in text
    assert "What HoldFast does next" not in text


def test_anothers_stuck_orders_are_not_counted(make_tenant, make_event, make_order, sign_in):
    mine, other = make_tenant(), make_tenant()
    make_order(other, make_event(other), ["A-1"], "tok_wrong_amount")
    assert (stuck(sign_in(mine)), in_sidebar(sign_in(mine))) == ({}, 0)
    assert in_sidebar(sign_in(other)) == 1


def test_pages_outside_of_a_tenant_have_a_sidebar_too(tenant, sign_in):
    assert sign_in(tenant).get(page("password_change")).status_code == 200
