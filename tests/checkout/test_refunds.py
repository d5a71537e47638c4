"""Refunds whose provider is away, refuses, or whose process is killed on the way: made in the end, or undone."""

import pytest

from reservations.checkout.lease import LEASE_SECONDS
from reservations.checkout.saga import carry_on_payment
from reservations.models import Payment, Refund
from reservations.queries.tickets import token_maker
from tenants.scope import tenant_transaction
from tests.checkout.sale import Sale
from tests.support import database
from tests.support.acts import ACTS

KEY = "the-key"
AWAY = "http://127.0.0.1:9"


def redeem(sale: Sale, ticket) -> str:
    return ACTS["redeem"](sale.tenant, token=token_maker()(ticket), gate="Gate")


def test_a_refund_without_restock_leaves_its_units_off_sale_and_the_next_does_not_bring_them_back(sale):
    order = sale.sell()
    assert sale.refund(order, [str(sale.units[0].id)], restock=False) == "200"
    assert sale.refund(order) == "200"
    assert sale.statuses() == {"A-1": "blocked", "A-2": "available"}
    assert sale.refund(order) == "nothing-to-refund"
    sale.judge()


def test_a_refund_while_the_provider_is_away_voids_the_tickets_and_gives_the_units_back_when_it_came(sale, settings):
    order = sale.sell()
    url, settings.MOCK_PSP_URL = settings.MOCK_PSP_URL, AWAY
    assert sale.refund(order, key=KEY) == "200"
    for seconds in (16, 3600):
        sale.recover(seconds)
        assert {ticket.status for ticket in sale.tickets()} == {"void"}
        assert set(sale.statuses().values()) == {"sold"}
        assert sale.orders()[0].status == "confirmed"
    assert redeem(sale, sale.tickets()[0]) == "ticket-void"
    assert sale.refund(order) == "nothing-to-refund"
    settings.MOCK_PSP_URL = url
    sale.recover_fully()
    (refunded,) = sale.orders()
    assert (refunded.status, set(sale.statuses().values())) == ("refunded", {"available"})
    assert sale.refund(order, key=KEY) == "200"
    sale.judge()


@pytest.mark.parametrize(
    "at",
    [
        "before reservations.checkout.refunds._send_and_settle",
        "before reservations.checkout.calls._read",
        "before reservations.checkout.refunds.settle_refund",
        "after reservations.checkout.settle_refund.end_answer",
        "after reservations.checkout.refunds.settle_refund",
    ],
    ids=["claimed", "sent", "answered", "settled, not committed", "settled"],
)
@pytest.mark.parametrize("finisher", ["a worker", "the client"])
def test_a_refund_whose_process_is_killed_is_finished_once(sale, mortals, at, finisher):
    order = sale.sell()
    asked = {"tenant": str(sale.tenant), "order": order, "key": KEY}
    assert mortals.run("refund", at, **asked).how == "killed"
    if finisher == "a worker":
        sale.recover()
    else:
        database.advance_clock(LEASE_SECONDS + 1)
        assert sale.refund(order, key=KEY) == "200"
    (refunded,) = sale.orders()
    assert (refunded.status, sale.kept(refunded)) == ("refunded", 0)
    assert set(sale.statuses().values()) == {"available"}
    assert sale.refund(order, key=KEY) == "200"
    assert sale.refund(order) == "nothing-to-refund"
    sale.judge()


@pytest.mark.parametrize(
    "at",
    [
        "after reservations.checkout.settle.give_back",
        "before reservations.checkout.calls._read",
        "before reservations.checkout.refunds.settle_refund",
        "after reservations.checkout.settle_refund.carry_out",
        "after reservations.checkout.refunds.settle_refund",
    ],
    ids=["written, not committed", "sent", "answered", "settled, not committed", "settled"],
)
def test_a_worker_that_is_killed_while_it_gives_back_what_came_too_late_is_followed_by_another(sale, mortals, at):
    hold = sale.hold()
    paid = {"tenant": str(sale.tenant), "hold": hold, "key": KEY}
    assert mortals.run("pay", "before reservations.checkout.saga.settle", **paid).how == "killed"
    database.advance_clock(1000)
    sale.sell("A-1", customer="bob")
    if at != "after reservations.checkout.settle.give_back":
        carry_on_payment(sale.tenant, sale.payments(hold)[0].id)
        assert sale.story(hold) == ("failed", "expired_while_paying", ["refunding"], ["pending"])
    assert mortals.run("work", at, tenant=str(sale.tenant)).how == "killed"
    sale.recover()
    sale.recover_fully()
    assert sale.story(hold) == ("failed", "expired_while_paying", ["refunded"], ["succeeded"])
    (charge,) = sale.charges(hold)
    assert len(sale.psp.refunds(charge["id"])) == 1
    sale.judge()


def test_a_refund_that_the_provider_refuses_makes_the_tickets_good_again(sale):
    order = sale.sell()
    used, unused = sale.tickets()
    assert redeem(sale, used) == "redeemed"
    # the organizer gave it back there already
    (charge,) = sale.charges(str(sale.orders()[0].hold_id))
    sale.refund_there(charge["id"], charge["amount"])
    assert sale.refund(order) == "200"
    assert [ticket.status for ticket in sale.tickets()] == ["redeemed", "valid"]
    assert (sale.orders()[0].status, set(sale.statuses().values())) == ("confirmed", {"sold"})
    with tenant_transaction(sale.tenant):
        (payment,) = Payment.objects.all()
        assert (payment.status, payment.refunded_amount) == ("succeeded", 0)
        assert [refund.status for refund in Refund.objects.all()] == ["failed"]
    assert redeem(sale, used) == "ticket-redeemed"
    assert redeem(sale, unused) == "redeemed"


def test_money_that_went_back_there_before_it_was_known_waits_for_a_person(sale, mortals):
    hold = sale.hold()
    paid = {"tenant": str(sale.tenant), "hold": hold, "key": KEY}
    assert mortals.run("pay", "before reservations.checkout.saga.settle", **paid).how == "killed"
    (charge,) = sale.charges(hold)
    database.advance_clock(1000)
    sale.sell("A-1", customer="bob")
    sale.refund_there(charge["id"], charge["amount"])
    sale.recover(0)
    sale.recover_fully()
    assert sale.story(hold) == ("pending", None, ["needs_review"], [])
    assert sale.told(sale.payments(hold)[0].id) == ["payment.needs_review"]
