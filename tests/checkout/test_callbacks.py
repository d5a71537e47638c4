"""Callbacks in any order and number, early, late, of refunds and of nothing that is known: hints, and no more."""

import pytest
from django.db import OperationalError

from holdfast.kernel.ids import new_id
from reservations.checkout import callbacks
from reservations.checkout.accounts import provider_of
from reservations.checkout.callbacks import UNKNOWN_KEPT_SECONDS
from reservations.checkout.provider import ChargeOrder, ChargeOutcome
from reservations.models import Refund
from tenants.scope import tenant_transaction
from tests.checkout.sale import PRICE
from tests.support import database

LOOK_SECONDS = 16
AWAY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _impatient(impatient: None) -> None:
    """The provider's silence is not waited for."""


@pytest.fixture
def unknown(sale):
    """A hold that is paid, though nobody here knows it yet; and the payment."""
    hold = sale.hold()
    assert sale.pay(hold, "tok_timeout_after_charge") == "202"
    (payment,) = sale.payments(hold)
    return hold, payment


def processed(sale):
    return [callback.processed_at is not None for callback in sale.callbacks()]


def test_the_same_news_ten_times_at_once_is_one_order(sale, unknown, run_together):
    hold, payment = unknown
    told = run_together([lambda: sale.tell(payment.provider_key, "same")] * 10)
    assert told == [200] * 10
    assert len(sale.callbacks()) == 1
    run_together([lambda: sale.recover(0)] * 4)
    assert sale.story(hold) == ("confirmed", None, ["succeeded"], [])
    assert sale.tell(payment.provider_key, "same") == 200
    assert sale.tell(payment.provider_key, "again") == 200
    sale.recover_fully()
    assert processed(sale) == [True, True]
    assert len(sale.charges(hold)) == 1
    sale.judge()


def test_news_that_names_the_charge_by_an_id_we_do_not_know_yet_waits_for_it(sale, unknown):
    hold, _ = unknown
    (charge,) = sale.charges(hold)
    assert sale.tell(charge["id"]) == 200
    sale.recover(0)
    assert processed(sale) == [False]
    sale.recover(LOOK_SECONDS)
    assert sale.story(hold) == ("confirmed", None, ["succeeded"], [])
    assert processed(sale) == [True]
    assert sale.payments(hold)[0].provider_reference == charge["id"]
    sale.judge()


@pytest.mark.parametrize("reference", ["hf-01890000-0000-7000-8000-000000000000", "mch_unknown", "hf-no-id"])
def test_news_of_nothing_we_know_is_looked_into_for_a_day_and_then_done(sale, reference):
    assert sale.tell(reference) == 200
    sale.recover(0)
    for seconds in (3600, UNKNOWN_KEPT_SECONDS - 2 * 3600):
        sale.recover(seconds)
        assert processed(sale) == [False]
    (callback,) = sale.callbacks()
    assert callback.looks == 3
    sale.recover(3 * 3600)
    assert processed(sale) == [True]
    assert sale.recover(3600) == 0
    sale.judge()


def test_news_of_another_tenants_payment_finds_nothing(sale, make_sale, unknown):
    hold, payment = unknown
    other = make_sale()
    assert other.tell(payment.provider_key) == 200
    other.recover(0)
    assert processed(other) == [False]
    assert sale.story(hold) == ("pending", None, ["unknown"], [])


def test_a_look_that_fails_midway_is_taken_again(sale, unknown, monkeypatch):
    hold, payment = unknown
    assert sale.tell(payment.provider_key) == 200

    def fails(*args):
        raise OperationalError("the server is gone")

    with monkeypatch.context() as patched:
        patched.setattr(callbacks, "carry_on_payment", fails)
        with pytest.raises(OperationalError):
            callbacks.look_into(sale.tenant, sale.callbacks()[0].id)
    assert processed(sale) == [False]
    sale.recover(LOOK_SECONDS)
    assert processed(sale) == [True]
    assert sale.story(hold) == ("confirmed", None, ["succeeded"], [])
    sale.judge()


def test_news_of_a_refund_brings_it_home_at_once(sale, settings):
    order = sale.sell()
    url, settings.MOCK_PSP_URL = settings.MOCK_PSP_URL, AWAY
    assert sale.refund(order) == "200"
    settings.MOCK_PSP_URL = url
    with tenant_transaction(sale.tenant):
        refund = Refund.objects.get()
    assert (refund.status, sale.kept(sale.orders()[0])) == ("pending", 5000)
    # its charge's news and its own, the later one first
    assert sale.tell(refund.provider_key) == 200
    assert sale.tell(f"hf-{refund.payment_id}") == 200
    sale.recover(0)
    assert sale.orders()[0].status == "refunded"
    sale.recover_fully()
    assert processed(sale) == [True, True]
    sale.judge()


def test_news_does_not_wake_another_while_the_first_still_waits_for_its_answer(sale, mortals):
    hold = sale.hold()
    at = "before reservations.checkout.saga.settle"
    paying = mortals.run("pay", at, stops=True, tenant=str(sale.tenant), hold=hold, key="k")
    (payment,) = sale.payments(hold)
    assert sale.tell(payment.provider_key) == 200
    sale.recover(0)
    (now,) = sale.payments(hold)
    assert (now.status, now.fence) == ("submitting", payment.fence)
    assert mortals.wake(paying).word == "201"
    assert processed(sale) == [True]
    sale.judge()


@pytest.mark.parametrize("times", [1, 5])
def test_money_that_comes_after_it_was_given_up_goes_back(sale, receiving, run_together, times):
    hold = sale.hold()
    assert sale.pay(hold, "tok_error_500") == "202"
    sale.recover_fully()
    assert sale.story(hold) == ("pending", None, ["declined"], [])
    database.advance_clock(700)
    sale.sell(customer="bob")
    assert sale.order(hold).reason == "provider_unavailable"
    (payment,) = sale.payments(hold)
    # a request that was on its way all the time
    order = ChargeOrder(payment.provider_key, 2 * PRICE, "EUR", "tok_ok", receiving.url)
    late = provider_of(sale.account()).charge(order)
    assert late.outcome == ChargeOutcome.SUCCEEDED
    assert run_together([lambda: sale.tell(payment.provider_key)] * times) == [200] * times
    run_together([lambda: sale.recover(0)] * 2)
    sale.recover_fully()
    assert sale.story(hold) == ("failed", "provider_unavailable", ["refunded"], ["succeeded"])
    sale.judge()


def test_news_of_a_decline_asks_once_and_changes_nothing(sale):
    hold = sale.hold()
    assert sale.pay(hold, "tok_declined") == "payment-declined"
    assert sale.tell(sale.payments(hold)[0].provider_key) == 200
    sale.recover(0)
    assert processed(sale) == [True]
    assert sale.story(hold) == ("pending", None, ["declined"], [])
    assert sale.pay(hold, f"tok_ok_{new_id()}") == "payment-declined"
    assert sale.pay(hold) == "201"
    sale.judge()
