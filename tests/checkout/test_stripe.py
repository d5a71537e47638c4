"""The Stripe adapter beyond what every provider is held to: what is sent, and what each answer of Stripe's means."""

from datetime import UTC, datetime, timedelta

import pytest

from reservations.checkout.provider import (
    Charge,
    ChargeOutcome,
)
from tests.checkout.at_stripe import key_of_age, order, said
from tests.support.stripe_books import DECLINES
from tests.support.stripe_server import KEY

UNKNOWN = Charge(ChargeOutcome.UNKNOWN)


def test_a_charge_is_one_request_that_says_all_and_nothing_of_this_machine(at_stripe, stripe, key):
    at_stripe.charge(order(key))

    ((method, path, headers, sent),) = stripe.books.asked
    assert (method, path) == ("POST", "/v1/payment_intents")
    assert sent == {
        "amount": "2500",
        "currency": "eur",
        "payment_method": "pm_card_visa",
        "confirm": "true",
        "automatic_payment_methods[enabled]": "true",
        "automatic_payment_methods[allow_redirects]": "never",
        "metadata[holdfast_key]": key,
        "description": "Two seats",
        "expand[0]": "latest_charge",
    }
    assert headers["idempotency-key"] == key
    assert headers["authorization"] == f"Bearer {KEY}"
    assert not [name for name in headers if name.startswith("x-stripe")]


def test_what_is_done_under_a_retry_is_never_retried_by_the_client_itself(at_stripe, stripe, key):
    stripe.faults.append(said(500, b'{"error": {"type": "api_error"}}'))
    assert at_stripe.charge(order(key)) == UNKNOWN
    assert len(stripe.books.asked) == 1


@pytest.mark.parametrize("method", DECLINES)
def test_a_decline_says_why_in_stripes_words(at_stripe, stripe, key, method):
    charge = at_stripe.charge(order(key, method))
    assert (charge.outcome, charge.decline_code) == (ChargeOutcome.DECLINED, DECLINES[method])
    assert at_stripe.lookup(key, charge.reference) == charge


def test_a_card_that_wants_its_holder_needs_action_until_it_is_done(at_stripe, stripe, key):
    charge = at_stripe.charge(order(key, "pm_card_authenticationRequired"))
    assert charge.outcome == ChargeOutcome.NEEDS_ACTION
    intent = stripe.books.intents[charge.reference]

    intent |= {"status": "requires_payment_method", "last_payment_error": {"code": "authentication_failed"}}
    refused = at_stripe.lookup(key, charge.reference)
    assert (refused.outcome, refused.decline_code) == (ChargeOutcome.DECLINED, "authentication_failed")


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({"status": "processing"}, ChargeOutcome.UNKNOWN),
        ({"status": "requires_confirmation"}, ChargeOutcome.UNKNOWN),
        ({"status": "requires_capture"}, ChargeOutcome.UNKNOWN),
        ({"status": "requires_payment_method", "last_payment_error": None}, ChargeOutcome.UNKNOWN),
        ({"status": "canceled", "cancellation_reason": "abandoned"}, ChargeOutcome.DECLINED),
        ({"status": "succeeded", "amount_received": 2500}, ChargeOutcome.SUCCEEDED),
    ],
)
def test_each_status_of_a_charge_is_an_outcome(at_stripe, stripe, key, changed, outcome):
    charge = at_stripe.charge(order(key, "pm_usBankAccount_processing"))
    assert charge.outcome == ChargeOutcome.UNKNOWN
    stripe.books.intents[charge.reference] |= changed
    assert at_stripe.lookup(key, charge.reference).outcome == outcome


def test_a_refusal_of_what_was_sent_is_a_decline(at_stripe, stripe, key):
    charge = at_stripe.charge(order(key, "pm_of_nobody"))
    assert charge == Charge(ChargeOutcome.DECLINED, decline_code="resource_missing")
    assert stripe.books.under_key(key) == []


@pytest.mark.parametrize(
    ("age", "outcome"),
    [
        ({"seconds": 0}, ChargeOutcome.UNKNOWN),
        ({"seconds": 60}, ChargeOutcome.UNKNOWN),
        ({"seconds": 120}, ChargeOutcome.ABSENT),
        ({"hours": 22}, ChargeOutcome.ABSENT),
    ],
)
def test_a_charge_is_absent_only_once_it_can_not_be_under_way_any_more(at_stripe, age, outcome):
    assert at_stripe.lookup(key_of_age(**age), None) == Charge(outcome)


def test_a_key_that_does_not_say_when_it_was_made_is_never_absent(at_stripe):
    assert at_stripe.lookup("hf-1", None) == UNKNOWN


def test_a_charge_that_was_sent_hours_after_its_key_was_made_is_found_among_many(at_stripe, stripe, key):
    old = key_of_age(hours=5)
    at_stripe.charge(order(old))
    for number in range(250):
        stripe.books.make_intent(
            {
                "amount": "1",
                "currency": "eur",
                "payment_method": "pm_card_visa",
                "confirm": "true",
                "automatic_payment_methods[allow_redirects]": "never",
                "metadata[holdfast_key]": f"another-{number}",
            }
        )
    found = at_stripe.lookup(old, None)
    assert (found.outcome, found.amount) == (ChargeOutcome.SUCCEEDED, 2500)
    assert sum(path == "/v1/payment_intents" and "limit" in sent for _, path, _, sent in stripe.books.asked) >= 4
    assert len(list(at_stripe.charges(datetime.now(UTC) - timedelta(minutes=5), datetime.now(UTC)))) >= 250


def test_a_reference_that_belongs_to_another_key_proves_nothing(at_stripe, key):
    charge = at_stripe.charge(order(key))
    assert at_stripe.lookup(key_of_age(hours=1), charge.reference) == UNKNOWN


@pytest.mark.parametrize(
    ("amount", "currency", "code"),
    [
        (1234, "KWD", "amount_not_supported"),
        (1050, "MGA", "amount_not_supported"),
        (500, "UGX", "currency_not_supported"),
        (1000, "IQD", "currency_not_supported"),
        (0, "EUR", "amount_out_of_range"),
        (10**12, "EUR", "amount_out_of_range"),
    ],
)
def test_what_stripe_can_not_take_is_declined_and_not_sent(at_stripe, stripe, key, amount, currency, code):
    assert at_stripe.charge(order(key, amount=amount, currency=currency)) == Charge(
        ChargeOutcome.DECLINED, decline_code=code
    )
    assert stripe.books.asked == []


@pytest.mark.parametrize(
    ("amount", "currency", "counted"),
    [(500, "JPY", "500"), (5, "ISK", "500"), (5000, "MGA", "50"), (5120, "KWD", "5120"), (1045, "HUF", "1045")],
)
def test_amounts_are_sent_as_stripe_counts_them_and_read_back(at_stripe, stripe, key, amount, currency, counted):
    charge = at_stripe.charge(order(key, amount=amount, currency=currency))
    assert stripe.books.asked[0][3]["amount"] == counted
    assert (charge.outcome, charge.amount, charge.currency) == (ChargeOutcome.SUCCEEDED, amount, currency)


def test_a_charge_in_money_that_is_none_of_ours_does_not_spoil_the_list(at_stripe, stripe, key):
    charge = at_stripe.charge(order(key))
    stripe.books.intents[charge.reference] |= {"currency": "ugx", "status": "requires_confirmation"}
    later = at_stripe.charge(order(f"{key}-2"))
    listed = list(at_stripe.charges(datetime.now(UTC) - timedelta(seconds=5), datetime.now(UTC) + timedelta(seconds=5)))
    assert later.reference in {one.reference for one in listed}
    assert charge.reference not in {one.reference for one in listed}
