"""Refunds at Stripe: looked for before they are made, so that a key gives money back once for ever."""

import pytest

from reservations.checkout.provider import RefundAnswer, RefundOutcome
from tests.checkout.at_stripe import back, order


def test_a_refund_under_way_is_unknown_and_asked_about_under_its_key(at_stripe, stripe, key):
    charge = at_stripe.charge(order(key))
    stripe.books.refund_status = "pending"
    first = at_stripe.refund(back(charge, f"{key}-back"))
    assert (first.outcome, bool(first.reference)) == (RefundOutcome.UNKNOWN, True)

    stripe.books.refunds[first.reference]["status"] = "succeeded"
    assert at_stripe.refund(back(charge, f"{key}-back")) == RefundAnswer(RefundOutcome.SUCCEEDED, first.reference)
    assert len([one for one in stripe.books.refunds.values() if one["payment_intent"] == charge.reference]) == 1


@pytest.mark.parametrize("status", ["failed", "canceled"])
def test_a_refund_that_fails_says_why(at_stripe, stripe, key, status):
    charge = at_stripe.charge(order(key))
    stripe.books.refund_status = status
    refund = at_stripe.refund(back(charge, f"{key}-back"))
    assert (refund.outcome, refund.failure_code) == (RefundOutcome.FAILED, "expired_or_canceled_card")


def test_a_refund_that_is_sent_again_after_stripe_forgot_its_key_gives_nothing_more(at_stripe, stripe, key):
    charge = at_stripe.charge(order(key))
    first = at_stripe.refund(back(charge, f"{key}-back", 1000))
    stripe.books.saved.clear()
    assert at_stripe.refund(back(charge, f"{key}-back", 1000)) == first
    assert stripe.books.intents[charge.reference]["latest_charge"]["amount_refunded"] == 1000


@pytest.mark.parametrize("fault", ["reset_after", "drip"])
def test_a_refund_whose_answer_was_lost_is_found(at_stripe, stripe, key, fault):
    charge = at_stripe.charge(order(key))
    stripe.faults.extend(["", fault])
    assert at_stripe.refund(back(charge, f"{key}-back")) == RefundAnswer(RefundOutcome.UNKNOWN)
    assert at_stripe.refund(back(charge, f"{key}-back")).outcome == RefundOutcome.SUCCEEDED
    assert stripe.books.intents[charge.reference]["latest_charge"]["amount_refunded"] == 2500
