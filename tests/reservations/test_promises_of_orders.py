"""What was paid is sold to a confirmed order, and money is an order, a refund or a case for a person.

Each breach is seen, and only one that selling on would make worse stops the sale.
"""

from typing import Any

import pytest

from reservations.invariants.checker import breaches
from reservations.invariants.watch import watch
from reservations.models import Order, Payment, PaymentAccount, PaymentStatus
from tenants.scope import tenant_transaction
from tests.contract.sale import Sale
from tests.reservations.state import sell
from tests.reservations.test_kill_switch import (
    COUNTERS,
    HAS_ITS_UNITS,
    MONEY,
    SOLD_HAS_AN_ORDER,
    broken,
    by_hand,
    shown,
)


@pytest.fixture
def sold(make_event: Any, make_units: Any, api: Any, tenant: Any) -> Sale:
    """One event whose one unit was paid."""
    event = make_event(tenant)
    sale = Sale(tenant, api(tenant), event, make_units(tenant, event, labels=["U-1"], price_amount=2500))
    sell(tenant.id, sale.hold(labels=["U-1"])["id"])
    with tenant_transaction(tenant.id):
        account = PaymentAccount.objects.filter(status="enabled").get()
        Payment.objects.create(
            tenant_id=tenant.id,
            order=Order.objects.get(event=event),
            account=account,
            status=PaymentStatus.SUCCEEDED,
            amount=2500,
            currency="EUR",
            captured_amount=2500,
            captured_currency="EUR",
        )
    assert not any(breaches(tenant.id).values())
    return sale


PAID = "UPDATE reservations_payment SET"
BREACHES: dict[str, tuple[str, str, set[str], bool]] = {
    "the order failed and keeps its unit and its money": (
        "UPDATE reservations_order SET status = 'failed', reason = 'declined', confirmed_at = NULL",
        "UPDATE reservations_order SET status = 'confirmed', reason = NULL, confirmed_at = statement_timestamp()",
        {SOLD_HAS_AN_ORDER, MONEY},
        True,
    ),
    "a ticket went back and its unit did not": (
        "DELETE FROM reservations_ticket",
        "",
        {HAS_ITS_UNITS},
        True,
    ),
    "the hold counts a unit as given back": (
        "UPDATE reservations_hold SET returned = 1",
        "UPDATE reservations_hold SET returned = 0",
        {COUNTERS},
        False,
    ),
    "the payment counts money as given back": (
        f"{PAID} refunded_amount = 1",
        f"{PAID} refunded_amount = 0",
        {COUNTERS},
        False,
    ),
    "the payment counts as declined and took money": (
        f"{PAID} status = 'declined'",
        f"{PAID} status = 'succeeded'",
        {MONEY},
        False,
    ),
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_is_seen_and_stops_the_sale_where_selling_on_is_worse(sold: Sale, name: str) -> None:
    breach, mend, wanted, stops = BREACHES[name]
    by_hand(sold.tenant, breach)
    assert broken(sold) == wanted
    watch()
    assert shown(sold)["paused_reason"] == ("invariant" if stops else None)
    if mend:
        by_hand(sold.tenant, mend)
    else:
        by_hand(
            sold.tenant,
            "UPDATE reservations_unit SET status = 'available', hold_id = NULL, order_id = NULL",
        )
    assert broken(sold) == set()
