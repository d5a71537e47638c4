"""What the database itself refuses of orders, payments, refunds, tickets and what providers say, however it is
written."""

from typing import Any

import pytest
from django.db import IntegrityError
from django.db.models import F

from holdfast.kernel.clock import Now
from holdfast.kernel.db.errors import constraint_name
from reservations.models import (
    Difference,
    Hold,
    Order,
    Payment,
    PaymentAccount,
    ProviderCallback,
    Refund,
    Ticket,
    Unit,
)
from tenants.models import TenantModel
from tenants.scope import tenant_transaction
from tests.reservations.test_constraints import checks_of
from tests.support.rows import sample

# of each model, what no row can be: by the constraint that says so
CHECKS: dict[type[TenantModel], dict[str, list[dict[str, Any]]]] = {
    Order: {
        "order_total_is_not_negative": [{"total_amount": -1}],
        "order_has_a_reason_iff_failed": [
            {"reason": "declined"},
            {"status": "failed"},
            {"status": "cancelled", "reason": "declined"},
        ],
        "order_confirmed_iff_it_says_when": [
            {"status": "confirmed"},
            {"status": "refunded"},
            {"status": "partially_refunded"},
            {"confirmed_at": Now()},
            {"status": "cancelled", "confirmed_at": Now()},
        ],
        "order_retook_another_hold": [{"retaken_hold": F("hold")}],
    },
    Payment: {
        "payment_amount_is_positive": [{"amount": 0}, {"amount": -1}],
        "payment_is_never_refunded_beyond_what_was_captured": [
            {"refunded_amount": 1},
            {"refunded_amount": -1, "captured_amount": 5},
            {"refunded_amount": 6, "captured_amount": 5},
        ],
        "payment_is_looked_at_while_open": [
            {"look_at": None},
            {"status": "submitting", "look_at": None},
            {"status": "needs_action", "look_at": None},
            {"status": "unknown", "look_at": None},
            {"status": "succeeded"},
            {"status": "declined"},
            {"status": "needs_review"},
        ],
    },
    Refund: {
        "refund_amount_is_not_negative": [{"amount": -1}],
        "refund_is_looked_at_while_pending": [
            {"look_at": None},
            {"settled_at": Now()},
            {"status": "succeeded", "look_at": None},
            {"status": "failed", "settled_at": Now()},
        ],
        "refund_of_money_has_a_payment": [
            {"payment": None, "amount": 1},
            {"payment": None, "amount": 0, "is_compensation": True},
        ],
    },
    Ticket: {
        "ticket_price_is_not_negative": [{"price_amount": -1}],
        "ticket_void_iff_refund": [
            {"refund": None},
            {"status": "valid"},
            {"status": "redeemed", "redeemed_at": Now()},
            {"status": "valid", "refund": None, "returned": True},
        ],
        "ticket_redeemed_iff_it_says_when": [
            {"status": "valid", "refund": None, "redeemed_at": Now()},
            {"status": "redeemed", "refund": None},
        ],
    },
    PaymentAccount: {"payment_account_provider_is_known": [{"provider": "cash"}, {"provider": ""}]},
    ProviderCallback: {
        "callback_is_looked_into_until_processed": [{"look_at": None}, {"processed_at": Now()}],
    },
    Difference: {"difference_kind_is_known": [{"kind": "taste"}, {"kind": ""}]},
}
# a status that nothing has may break another check as well, and PostgreSQL names the first of them by name
STATUSES: dict[type[TenantModel], tuple[str, set[str]]] = {
    Order: ("order_status_is_known", {"order_confirmed_iff_it_says_when", "order_has_a_reason_iff_failed"}),
    Payment: ("payment_status_is_known", {"payment_is_looked_at_while_open"}),
    Refund: ("refund_status_is_known", {"refund_is_looked_at_while_pending"}),
    Ticket: ("ticket_status_is_known", {"ticket_redeemed_iff_it_says_when", "ticket_void_iff_refund"}),
    PaymentAccount: ("payment_account_status_is_known", set()),
}


def refused(row: Any, fields: dict[str, Any]) -> str:
    """The name of the constraint that refuses the change; the row is as it was."""
    model = type(row)
    with tenant_transaction(row.tenant_id):
        before = model.objects.filter(id=row.id).values().get()
    with pytest.raises(IntegrityError) as error, tenant_transaction(row.tenant_id):
        model.objects.filter(id=row.id).update(**fields)
    with tenant_transaction(row.tenant_id):
        assert model.objects.filter(id=row.id).values().get() == before
    return constraint_name(error.value) or ""


@pytest.mark.parametrize(
    ("model", "name", "fields"),
    [
        pytest.param(model, name, fields, id=f"{name}-{n}")
        for model, checks in CHECKS.items()
        for name, each in checks.items()
        for n, fields in enumerate(each)
    ],
)
def test_what_can_not_be_is_refused(tenant: Any, model: Any, name: str, fields: dict[str, Any]) -> None:
    assert refused(sample(model, tenant.id), fields) == name


@pytest.mark.parametrize("status", ["lost", ""])
@pytest.mark.parametrize("model", STATUSES)
def test_a_status_that_nothing_has_is_refused(tenant: Any, model: Any, status: str) -> None:
    name, others = STATUSES[model]
    assert refused(sample(model, tenant.id), {"status": status}) in {name, *others}


def test_a_sold_unit_has_an_order_and_a_free_one_none(tenant: Any) -> None:
    sold = sample(Unit, tenant.id)
    for fields in ({"order": None}, {"status": "held"}):
        assert refused(sold, fields) == "unit_sold_iff_order"
    assert refused(sold, {"status": "available"}) == "unit_held_iff_hold"


def again(row: Any, **fields: Any) -> str:
    """The name of the constraint that refuses a second row like this one."""
    with pytest.raises(IntegrityError) as error:
        sample(type(row), row.tenant_id, **fields)
    return constraint_name(error.value) or ""


def test_a_hold_has_one_order(tenant: Any) -> None:
    order = sample(Order, tenant.id)
    assert "hold" in again(order, hold=order.hold, event=order.event)


def test_an_order_is_paid_one_at_a_time_and_once(tenant: Any) -> None:
    open_one = sample(Payment, tenant.id, amount=5)
    for status in ("created", "submitting", "needs_action", "unknown"):
        assert again(open_one, order=open_one.order, status=status) == "order_is_paid_one_at_a_time"
    paid = sample(Payment, tenant.id, status="succeeded", look_at=None)
    assert again(paid, order=paid.order, status="succeeded", look_at=None) == "order_is_paid_once"
    # what was declined stands in nobody's way
    sample(Payment, tenant.id, order=paid.order, status="declined", look_at=None)


def test_a_payment_is_compensated_once_unless_that_failed(tenant: Any) -> None:
    refund = sample(Refund, tenant.id, is_compensation=True)
    assert again(refund, payment=refund.payment, is_compensation=True) == "payment_is_compensated_once"
    over = {"status": "failed", "look_at": None, "settled_at": Now()}
    sample(Refund, tenant.id, payment=refund.payment, is_compensation=True, **over)


def test_a_unit_is_sold_once_until_it_has_come_back(tenant: Any) -> None:
    ticket = sample(Ticket, tenant.id)
    assert again(ticket, unit=ticket.unit) == "unit_is_sold_once"
    with tenant_transaction(tenant.id):
        Ticket.objects.filter(id=ticket.id).update(returned=True)
    sample(Ticket, tenant.id, unit=ticket.unit)


def test_a_tenant_has_one_enabled_account_and_a_callback_is_stored_once(tenant: Any) -> None:
    with tenant_transaction(tenant.id):
        enabled = PaymentAccount.objects.get(status="enabled")
    assert again(enabled, status="enabled") == "payment_account_enabled_is_one_per_tenant"
    callback = sample(ProviderCallback, tenant.id)
    assert again(callback, account=callback.account, event_id=callback.event_id) == "callback_is_stored_once"
    sample(ProviderCallback, tenant.id, event_id=callback.event_id)


def test_nothing_names_another_tenants_rows(tenant: Any, make_tenant: Any) -> None:
    mine, theirs = sample(Payment, tenant.id, status="declined", look_at=None), make_tenant()
    for row, fields in (
        (sample(Payment, theirs.id), {"order_id": mine.order_id}),
        (sample(Payment, theirs.id), {"account_id": mine.account_id}),
        (sample(Refund, theirs.id), {"payment_id": mine.id}),
        (sample(Ticket, theirs.id), {"order_id": mine.order_id}),
        (sample(Order, theirs.id), {"hold_id": sample(Hold, tenant.id).id}),
    ):
        assert refused(row, fields).endswith("_of_its_tenant")


def test_every_check_of_the_models_is_tried_here() -> None:
    tried = {name for checks in CHECKS.values() for name in checks} | {name for name, _ in STATUSES.values()}
    assert checks_of(*CHECKS) == tried
