"""Whatever happens between here and Stripe: the adapter's calls end in time, and say no more than they know."""

import time
from datetime import UTC, datetime

import pytest

from reservations.checkout.provider import Charge, ChargeOutcome, ProviderAway, RefundOrder, RefundOutcome
from tests.checkout.at_stripe import DEADLINE_SECONDS, key_of_age, order, said

UNKNOWN = Charge(ChargeOutcome.UNKNOWN)
FAULTS: list[str | bytes] = [
    "hang",
    "reset",
    "drip",
    b"",
    b"no HTTP at all\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{",
    said(200, b""),
    said(200, b"<html>"),
    said(200, b"\xff\xfe"),
    said(200, b"[]"),
    said(200, b"null"),
    said(200, b"7"),
    said(200, b"{}"),
    said(200, b'{"object": "payment_intent", "id": 7, "status": "succeeded"}'),
    said(200, b'{"object": "payment_intent", "id": "pi_1", "status": "new_in_2030", "amount": 1}'),
    said(200, b'{"object": "list", "data": 7}'),
    said(200, b'{"object": "list", "data": [7], "has_more": true}'),
    said(200, b'{"object": "list", "data": [], "has_more": true}'),
    said(200, b'{"a":' * 5000 + b"1" + b"}" * 5000),
    said(301, b"{}"),
    said(400, b"no JSON"),
    said(400, b'{"error": 7}'),
    said(400, b'{"error": {"message": "of a proxy"}}'),
    said(400, b'{"error": {"type": "idempotency_error"}}'),
    said(401, b'{"error": {"type": "invalid_request_error", "code": "api_key_expired"}}'),
    said(402, b'{"error": {"type": 7, "code": []}}'),
    said(403, b'{"error": {"type": "invalid_request_error"}}'),
    said(409, b'{"error": {"type": "idempotency_error", "code": "idempotency_key_in_use"}}'),
    said(429, b'{"error": {"type": "invalid_request_error", "code": "lock_timeout"}}'),
    said(500, b'{"error": {"type": "api_error"}}'),
    said(502, b"<html>Bad gateway</html>"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: repr(fault)[:60])
def test_whatever_goes_wrong_on_the_way_nothing_is_known_and_it_ends_in_time(at_stripe, stripe, key, fault):
    asked = {
        "charge": lambda: at_stripe.charge(order(key)) in (UNKNOWN, Charge(ChargeOutcome.UNKNOWN, "pi_1")),
        "lookup": lambda: at_stripe.lookup(key, "pi_1").outcome == ChargeOutcome.UNKNOWN,
        "refund": lambda: at_stripe.refund(RefundOrder("hf-r", "pi_1", 1, "EUR", "")).outcome == RefundOutcome.UNKNOWN,
        "search": lambda: at_stripe.lookup(key_of_age(days=1), None).outcome == ChargeOutcome.UNKNOWN,
    }
    for name, ask in asked.items():
        stripe.faults.append(fault)
        began = time.monotonic()
        assert ask(), name
        assert time.monotonic() - began < DEADLINE_SECONDS + 15
        stripe.faults.clear()
    stripe.faults.append(fault)
    with pytest.raises(ProviderAway):
        list(at_stripe.charges(datetime.now(UTC), datetime.now(UTC)))


@pytest.mark.parametrize("fault", ["reset", "hang", said(500, b"{}")])
def test_a_list_that_breaks_off_is_no_proof(at_stripe, stripe, fault):
    stripe.faults.extend(["", fault])
    assert at_stripe.lookup(key_of_age(hours=1), None) == UNKNOWN
