"""What each fault of the provider comes to in the end: an order with its money, or neither."""

import pytest

from holdfast.kernel.errors import Refusal
from reservations import expiry
from reservations.checkout.review import refund_payment, resume_payment
from reservations.errors import InvalidTransition
from reservations.models import PaymentStatus
from tests.checkout.sale import PRICE
from tests.support import database
from tests.support.processes import wait_until

KEY = "the-key"
LOOK_SECONDS = 16
CHARGED = ["tok_timeout_after_charge", "tok_reset_after_charge"]
NOT_CHARGED = ["tok_timeout_before_charge", "tok_reset_before_charge", "tok_error_500"]


@pytest.fixture(autouse=True)
def _impatient(impatient: None) -> None:
    """The provider's silence is not waited for."""


@pytest.mark.parametrize("method", CHARGED)
def test_a_charge_whose_answer_was_lost_is_found_and_the_order_confirmed(sale, method):
    hold = sale.hold()
    assert sale.pay(hold, method, KEY) == "202"
    assert sale.story(hold) == ("pending", None, ["unknown"], [])
    assert sale.pay(hold, method, KEY) == "202"
    assert sale.pay(hold, method, "another") == "checkout-in-progress"
    assert sale.release(hold) == "checkout-in-progress"
    sale.recover(LOOK_SECONDS)
    assert sale.story(hold) == ("confirmed", None, ["succeeded"], [])
    assert sale.pay(hold, method, KEY) == "201"
    assert len(sale.charges(hold)) == 1
    sale.judge()


@pytest.mark.parametrize("method", NOT_CHARGED)
def test_a_charge_that_never_takes_place_is_sent_three_times_and_then_given_up(sale, method):
    hold = sale.hold()
    assert sale.pay(hold, method, KEY) == "202"
    for sends in (2, 3):
        sale.recover(LOOK_SECONDS)
        (payment,) = sale.payments(hold)
        assert (payment.status, payment.sends) == (PaymentStatus.UNKNOWN, sends)
    sale.recover(LOOK_SECONDS)
    assert sale.story(hold) == ("pending", None, ["declined"], [])
    assert sale.pay(hold, method, KEY) == "payment-declined"
    assert sale.charges(hold) == []
    # the buyer's time goes on, and so may he
    assert set(sale.statuses().values()) == {"held"}
    assert sale.pay(hold) == "201"
    sale.judge()


def test_an_order_that_no_provider_would_take_fails_when_its_hold_ends(sale):
    hold = sale.hold()
    assert sale.pay(hold, "tok_error_500") == "202"
    sale.recover_fully()
    database.advance_clock(901)
    expiry.sweep_tenant(sale.tenant)
    assert sale.story(hold) == ("failed", "provider_unavailable", ["declined"], [])
    assert sale.told(sale.order(hold).id) == ["order.failed"]
    assert set(sale.statuses().values()) == {"available"}
    sale.judge()


def test_a_charge_that_is_not_known_there_is_never_sent_again_once_its_key_may_be_forgotten(sale):
    hold = sale.hold()
    assert sale.pay(hold, "tok_error_500") == "202"
    sale.recover(23 * 3600 + 1)
    (payment,) = sale.payments(hold)
    assert (payment.status, payment.sends) == (PaymentStatus.DECLINED, 1)
    assert sale.story(hold) == ("failed", "provider_unavailable", ["declined"], [])
    sale.judge()


def test_nothing_is_decided_while_the_provider_is_away_however_long(sale, settings):
    hold = sale.hold()
    url, settings.MOCK_PSP_URL = settings.MOCK_PSP_URL, "http://127.0.0.1:9"
    assert sale.pay(hold, key=KEY) == "202"
    for seconds in (61, 3600, 24 * 3600):
        sale.recover(seconds)
        assert sale.story(hold) == ("pending", None, ["unknown"], [])
    # its units did not wait for it
    assert set(sale.statuses().values()) == {"held"}
    other = sale.hold(customer="bob")
    settings.MOCK_PSP_URL = url
    assert sale.pay(other) == "201"
    sale.recover_fully()
    assert sale.story(hold) == ("failed", "provider_unavailable", ["declined"], [])
    sale.judge()


@pytest.mark.parametrize("method", ["tok_duplicate_callbacks", "tok_late_callback"])
def test_callbacks_that_come_often_or_late_change_nothing(sale, web, settings, method):
    settings.PUBLIC_URL = web.url
    hold = sale.hold()
    assert sale.pay(hold, method) == "201"
    wait_until(sale.callbacks, "the callback")
    sale.recover_fully()
    assert [bool(callback.processed_at) for callback in sale.callbacks()] == [True]
    assert sale.story(hold) == ("confirmed", None, ["succeeded"], [])
    sale.judge()


def test_no_callback_is_needed(sale):
    hold = sale.hold()
    assert sale.pay(hold, "tok_no_callback") == "201"
    assert sale.refund(str(sale.order(hold).id)) == "200"
    assert sale.callbacks() == []
    sale.judge()


def test_a_callback_brings_an_order_whose_answer_was_lost_at_once(sale, web, settings):
    settings.PUBLIC_URL = web.url
    hold = sale.hold()
    assert sale.pay(hold, "tok_timeout_after_charge", KEY) == "202"
    wait_until(sale.callbacks, "the callback")
    sale.recover(0)
    assert sale.story(hold) == ("confirmed", None, ["succeeded"], [])
    assert all(callback.processed_at for callback in sale.callbacks())
    sale.judge()


@pytest.fixture
def reviewed(sale):
    """A hold whose payment took a cent too much."""
    hold = sale.hold()
    assert sale.pay(hold, "tok_wrong_amount", KEY) == "202"
    (payment,) = sale.payments(hold)
    assert (payment.status, payment.captured_amount) == (PaymentStatus.NEEDS_REVIEW, 2 * PRICE + 1)
    assert sale.told(payment.id) == ["payment.needs_review"]
    assert sale.recover() == 0
    return hold


def decide(sale, hold, decision):
    (payment,) = sale.payments(hold)
    try:
        return decision(tenant_id=sale.tenant, payment_id=payment.id).status
    except Refusal as refusal:
        return refusal.slug


def test_another_amount_waits_for_a_person_who_takes_it(sale, reviewed):
    assert sale.pay(reviewed, "tok_wrong_amount", KEY) == "202"
    assert sale.pay(reviewed) == "checkout-in-progress"
    assert decide(sale, reviewed, resume_payment) == "succeeded"
    assert sale.pay(reviewed, "tok_wrong_amount", KEY) == "201"
    assert decide(sale, reviewed, resume_payment) == InvalidTransition.slug
    assert decide(sale, reviewed, refund_payment) == InvalidTransition.slug
    sale.judge(extra=1)
    # what was taken too much goes back with the last of it
    order = sale.order(reviewed)
    units = [str(unit.id) for unit in sale.units]
    assert sale.refund(str(order.id), units[:1]) == "200"
    assert sale.kept(order) == PRICE + 1
    assert sale.refund(str(order.id)) == "200"
    sale.judge()


def test_another_amount_waits_for_a_person_who_gives_it_back(sale, reviewed):
    assert decide(sale, reviewed, refund_payment) == "refunding"
    sale.recover_fully()
    assert sale.story(reviewed) == ("failed", "refunded_after_review", ["refunded"], ["succeeded"])
    assert set(sale.statuses().values()) == {"available"}
    assert sale.told(reviewed) == ["hold.created", "hold.released"]
    sale.judge()


def test_a_person_who_takes_another_amount_too_late_gives_it_back(sale, reviewed):
    database.advance_clock(1000)
    sale.sell("A-1", customer="bob")
    assert decide(sale, reviewed, resume_payment) == "refunding"
    sale.recover_fully()
    assert sale.story(reviewed) == ("failed", "expired_while_paying", ["refunded"], ["succeeded"])
    sale.judge()


def test_two_persons_who_decide_at_once_decide_once(sale, reviewed, run_together):
    decisions = [resume_payment, refund_payment] * 2
    words = run_together([lambda each=each: decide(sale, reviewed, each) for each in decisions])
    assert words.count(InvalidTransition.slug) == len(words) - 1, words
    sale.recover_fully()
    sale.judge(extra=1)
