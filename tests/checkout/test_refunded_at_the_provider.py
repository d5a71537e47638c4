"""What an organizer gives back at the provider, past HoldFast, is neither sold for nor given back again."""

from reservations.checkout.provider import ChargeOrder
from reservations.checkout.review import refund_payment
from reservations.checkout.saga import carry_on_payment
from tests.checkout.sale import PRICE
from tests.support import database


def test_an_order_is_not_confirmed_for_money_that_was_given_back_there_already(sale, impatient):
    hold = sale.hold()
    assert sale.pay(hold, "tok_timeout_after_charge") == "202"
    (charge,) = sale.charges(hold)
    sale.refund_there(charge["id"], charge["amount"])
    sale.recover_fully()
    assert sale.kept(sale.order(hold)) == 0
    assert sale.order(hold).status != "confirmed"
    assert not sale.tickets()


def test_late_money_of_which_a_part_went_back_there_goes_back_for_the_rest(sale, impatient, receiving):
    """Nor does giving it back in the admin, however often, ever end the case."""
    hold = sale.hold()
    assert sale.pay(hold, "tok_error_500") == "202"
    sale.recover_fully()
    (payment,) = sale.payments(hold)
    late = sale.there().charge(ChargeOrder(payment.provider_key, 2 * PRICE, "EUR", "tok_ok", receiving.url))
    sale.refund_there(late.reference, 1000)
    assert sale.tell(payment.provider_key) == 200
    sale.recover(0)
    sale.recover_fully()
    for _ in range(2):
        if sale.payments(hold)[0].status == "needs_review":
            refund_payment(tenant_id=sale.tenant, payment_id=payment.id)
            sale.recover_fully()
    assert sale.kept(sale.order(hold)) == 0


def test_a_case_whose_money_went_back_there_can_be_closed(sale, mortals):
    """As in `test_a_compensation_that_the_provider_refuses_waits_for_a_person`, and then the person decides."""
    hold = sale.hold()
    paid = {"tenant": str(sale.tenant), "hold": hold, "key": "the-key"}
    assert mortals.run("pay", "before reservations.checkout.saga.settle", **paid).how == "killed"
    (charge,) = sale.charges(hold)
    database.advance_clock(1000)
    sale.sell("A-1", customer="bob")
    (payment,) = sale.payments(hold)
    carry_on_payment(sale.tenant, payment.id)
    sale.refund_there(charge["id"], charge["amount"])
    sale.recover_fully()
    assert sale.payments(hold)[0].status == "needs_review"
    refund_payment(tenant_id=sale.tenant, payment_id=payment.id)
    sale.recover_fully()
    assert sale.payments(hold)[0].status == "refunded"


def test_a_refund_of_what_went_back_there_returns_the_units_alone(sale):
    order = sale.sell()
    (charge,) = sale.charges(str(sale.orders()[0].hold_id))
    sale.refund_there(charge["id"], charge["amount"] - PRICE // 2)
    # the provider has less left than is asked for: the first try learns how much, the second asks for that
    assert sale.refund(order) == "200"
    assert sale.orders()[0].status == "confirmed"
    assert sale.refund(order) == "200"
    assert sale.orders()[0].status == "refunded"
    assert sale.kept(sale.orders()[0]) == 0
    assert set(sale.statuses().values()) == {"available"}
    sale.judge()
