"""Stripe's events: what they are about, and what is none of them."""

import json
import time

import pytest

from reservations.checkout.provider import BadSignature, CallbackNews
from tests.support.stripe_server import event, signed

KEYED = {"metadata": {"holdfast_key": "hf-1"}}


@pytest.mark.parametrize(
    ("about", "reference"),
    [
        ({"object": "payment_intent", "id": "pi_1", **KEYED}, "hf-1"),
        ({"object": "payment_intent", "id": "pi_1", "metadata": {}}, "pi_1"),
        ({"object": "payment_intent", "id": "pi_1", "metadata": {"holdfast_key": 7}}, "pi_1"),
        ({"object": "payment_intent", "id": "pi_1", "metadata": {"holdfast_key": "a b\u0000"}}, "pi_1"),
        ({"object": "charge", "id": "ch_1", "payment_intent": "pi_1", **KEYED}, "hf-1"),
        ({"object": "charge", "id": "ch_1", "payment_intent": "pi_1", "metadata": {}}, "pi_1"),
        ({"object": "refund", "id": "re_1", "payment_intent": "pi_1", **KEYED}, "hf-1"),
        ({"object": "refund", "id": "re_1", "payment_intent": "pi_1"}, "pi_1"),
        ({"object": "dispute", "id": "du_1", "payment_intent": "pi_1"}, "pi_1"),
        ({"object": "customer", "id": "cus_1"}, "cus_1"),
        ({"object": "balance"}, "evt_1"),
    ],
)
def test_an_event_leads_to_our_key_or_to_the_charge(at_stripe, about, reference):
    body = event("charge.updated", about)
    assert at_stripe.verify_callback(body, signed(body)) == CallbackNews("evt_1", "charge.updated", reference)


def test_while_a_secret_is_rolled_one_good_signature_of_two_is_enough(at_stripe):
    body = event("charge.updated", {"id": "ch_1"})
    good = signed(body)["stripe-signature"]
    header = good.replace(",v1=", f",v1={'0' * 64},v1=") + ",v0=" + "0" * 64
    assert at_stripe.verify_callback(body, {"stripe-signature": header}).reference == "ch_1"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"7",
        b"{}",
        b"{",
        b"\xff",
        b'{"id": "evt_1"}',
        b'{"id": "evt_1", "type": 7}',
        b'{"id": "", "type": "charge.updated"}',
        b'{"id": "evt\\u0000", "type": "charge.updated"}',
        b'{"id": "evt_1", "type": "charge updated"}',
        json.dumps({"id": "e" * 256, "type": "charge.updated"}).encode(),
        json.dumps({"id": "evt_1", "type": "c" * 101}).encode(),
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    ],
)
def test_a_body_that_is_no_event_is_refused_however_well_it_is_signed(at_stripe, body):
    with pytest.raises(BadSignature):
        at_stripe.verify_callback(body, signed(body))


@pytest.mark.parametrize(
    "header", ["t=1,v1=\N{SNOWMAN}", "t=x,v1=1", "v1=", "t=1", "=,=,=", "t=" + "9" * 10_000 + ",v1=1"]
)
def test_a_signature_that_is_none_is_refused(at_stripe, header):
    body = event("charge.updated", {"id": "ch_1"})
    with pytest.raises(BadSignature):
        at_stripe.verify_callback(body, {"stripe-signature": header})


def test_the_signature_counts_for_the_time_it_was_made_at(at_stripe):
    body = event("charge.updated", {"id": "ch_1"})
    moved = signed(body, age_seconds=600)["stripe-signature"].split(",")[1]
    with pytest.raises(BadSignature):
        at_stripe.verify_callback(body, {"stripe-signature": f"t={int(time.time())},{moved}"})
