"""Money that comes after a payment was taken for declined goes back, or a person decides, and nothing else changes."""

import sqlite3
from contextlib import closing

import pytest

from holdfast.kernel.ids import new_id
from reservations.checkout.callbacks import look_into
from reservations.checkout.mock import MockProvider
from reservations.checkout.provider import RefundAnswer, RefundOutcome
from reservations.checkout.refunds import carry_on_refund
from reservations.checkout.review import refund_payment, resume_payment
from reservations.models import Refund
from tenants.scope import tenant_transaction
from tests.checkout.sale import PRICE


def comes_late(sale, hold, index=0):
    """The provider said that it was declined, and took the money after all."""
    payment = sale.payments(hold)[index]
    with closing(sqlite3.connect(sale.psp.file, timeout=60)) as books, books:
        statement = "UPDATE charge SET status = 'succeeded', decline_code = NULL WHERE key = ?"
        assert books.execute(statement, (payment.provider_key,)).rowcount == 1
    assert sale.tell(payment.provider_key) == 200
    return payment


@pytest.fixture
def refuses_refunds(monkeypatch):
    """The provider refuses refunds until it is undone."""
    with monkeypatch.context() as patched:
        patched.setattr(MockProvider, "refund", lambda *_: RefundAnswer(RefundOutcome.FAILED, failure_code="not_now"))
        yield patched


def test_money_that_a_person_took_after_all_goes_back_with_its_tickets(sale, refuses_refunds):
    hold = sale.hold()
    assert sale.pay(hold, "tok_declined") == "payment-declined"
    payment = comes_late(sale, hold)
    sale.recover(0)
    sale.recover_fully()
    assert sale.story(hold) == ("pending", None, ["needs_review"], ["failed"])
    refuses_refunds.undo()
    assert resume_payment(tenant_id=sale.tenant, payment_id=payment.id).status == "succeeded"
    order = sale.order(hold)
    assert (order.status, sale.kept(order)) == ("confirmed", 2 * PRICE)
    assert sale.refund(str(order.id)) == "200"
    sale.recover_fully()
    assert sale.order(hold).status == "refunded"
    assert sale.kept(order) == 0
    sale.judge()


def test_giving_late_money_back_leaves_the_order_to_the_payment_that_is_under_way(sale, refuses_refunds, impatient):
    hold = sale.hold()
    assert sale.pay(hold, "tok_declined") == "payment-declined"
    assert sale.pay(hold, "tok_timeout_after_charge") == "202"
    first = comes_late(sale, hold)
    # in these steps alone: the second payment is not looked at meanwhile
    (news,) = (callback for callback in sale.callbacks() if callback.reference == first.provider_key)
    look_into(sale.tenant, news.id)
    with tenant_transaction(sale.tenant):
        refund = Refund.objects.get()
    carry_on_refund(sale.tenant, refund.id)
    refuses_refunds.undo()
    assert [payment.status for payment in sale.payments(hold)] == ["needs_review", "unknown"]
    refund_payment(tenant_id=sale.tenant, payment_id=first.id)
    sale.recover_fully()
    assert sale.order(hold).status == "confirmed"
    sale.judge()


def test_an_order_that_was_confirmed_is_never_told_to_have_failed(sale, refuses_refunds, impatient):
    hold = sale.hold()
    assert sale.pay(hold, "tok_declined") == "payment-declined"
    assert sale.pay(hold, "tok_error_500") == "202"
    first = comes_late(sale, hold)
    sale.recover(0)
    refuses_refunds.undo()
    assert resume_payment(tenant_id=sale.tenant, payment_id=first.id).status == "succeeded"
    sale.recover_fully()
    assert sale.told(sale.order(hold).id) == ["order.confirmed"]
    sale.judge()


def test_a_replay_does_not_call_a_hold_released_that_can_be_paid(sale, impatient):
    hold = sale.hold()
    key = f"pay-{new_id()}"
    assert sale.pay(hold, "tok_timeout_after_charge", key) == "202"
    (payment,) = sale.payments(hold)
    with closing(sqlite3.connect(sale.psp.file, timeout=60)) as books, books:
        statement = "UPDATE charge SET status = 'declined', decline_code = 'later' WHERE key = ?"
        assert books.execute(statement, (payment.provider_key,)).rowcount == 1
    sale.recover_fully()
    assert sale.pay(hold, "tok_timeout_after_charge", key) == "payment-declined"
    comes_late(sale, hold)
    sale.recover(0)
    sale.recover_fully()
    word = sale.pay(hold, "tok_timeout_after_charge", key)
    assert sale.pay(hold) == "201"
    assert word == "payment-declined"


def test_a_sold_hold_reads_converted_whatever_becomes_of_its_late_money(sale, refuses_refunds):
    hold = sale.hold()
    assert sale.pay(hold, "tok_declined") == "payment-declined"
    assert sale.pay(hold) == "201"
    comes_late(sale, hold)
    sale.recover(0)
    sale.recover_fully()
    assert [payment.status for payment in sale.payments(hold)] == ["needs_review", "succeeded"]
    assert (sale.pay(hold), sale.release(hold)) == ("hold-converted", "hold-converted")
