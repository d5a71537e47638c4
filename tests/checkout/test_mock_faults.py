"""Each token of the mock provider does what it says, to the adapter and in the provider's books."""

import socket
import threading
import time

import pytest

from reservations.checkout.mock import MockProvider
from reservations.checkout.provider import ChargeOrder, ChargeOutcome, RefundOrder, RefundOutcome
from tests.support.processes import wait_until

NOWHERE = "http://127.0.0.1:9/callbacks"
NOTHING_TAKEN = ["tok_timeout_before_charge", "tok_error_500", "tok_reset_before_charge"]
TAKEN = ["tok_timeout_after_charge", "tok_reset_after_charge"]
PATIENCE_SECONDS = 0.5


@pytest.fixture
def impatient(psp, account):
    """The same account, asked by somebody who waits half a second."""
    return MockProvider(psp.url, account, deadline_seconds=PATIENCE_SECONDS)


def order(key, token, amount=2500, currency="EUR"):
    return ChargeOrder(key, amount, currency, token, NOWHERE)


@pytest.mark.parametrize("token", ["tok_ok", "tok_duplicate_callbacks", "tok_late_callback", "tok_no_callback"])
def test_a_good_token_charges_once(psp, provider, key, token):
    charge = provider.charge(order(key, token))

    assert (charge.outcome, charge.amount, charge.currency) == (ChargeOutcome.SUCCEEDED, 2500, "EUR")
    assert psp.charges(key) == [
        {
            "id": charge.reference,
            "reference": key,
            "amount": 2500,
            "currency": "EUR",
            "status": "succeeded",
            "refunded": 0,
        }
    ]


@pytest.mark.parametrize(
    ("token", "code"),
    [
        ("tok_declined", "card_declined"),
        ("tok_nonsense", "invalid_token"),
        ("tok_slow_", "invalid_token"),
        ("tok_slow_-1", "invalid_token"),
        ("TOK_OK", "invalid_token"),
        ("x" * 255, "invalid_token"),
    ],
)
def test_a_bad_token_is_declined(psp, provider, key, token, code):
    charge = provider.charge(order(key, token))

    assert (charge.outcome, charge.decline_code) == (ChargeOutcome.DECLINED, code)
    assert [row["status"] for row in psp.charges(key)] == ["declined"]


@pytest.mark.parametrize("token", NOTHING_TAKEN)
def test_before_the_charge_nothing_is_taken_however_often_it_is_sent(psp, impatient, key, token):
    for _ in range(3):
        assert impatient.charge(order(key, token)).outcome == ChargeOutcome.UNKNOWN
    assert impatient.lookup(key, None).outcome == ChargeOutcome.ABSENT
    assert psp.charges(key) == []


@pytest.mark.parametrize("token", TAKEN)
def test_after_the_charge_the_money_is_taken_once(psp, impatient, key, token):
    for _ in range(3):
        assert impatient.charge(order(key, token)).outcome == ChargeOutcome.UNKNOWN
    assert impatient.lookup(key, None).outcome == ChargeOutcome.SUCCEEDED
    assert [row["amount"] for row in psp.charges(key)] == [2500]


def test_a_slow_answer_comes_as_late_as_asked(psp, provider, key):
    began = time.monotonic()
    assert provider.charge(order(key, "tok_slow_300")).outcome == ChargeOutcome.SUCCEEDED
    assert time.monotonic() - began >= 0.3
    assert len(psp.charges(key)) == 1


def test_an_answer_slower_than_the_patience_is_unknown_at_once_and_taken(psp, impatient, key):
    began = time.monotonic()
    assert impatient.charge(order(key, "tok_slow_900000")).outcome == ChargeOutcome.UNKNOWN
    assert time.monotonic() - began < PATIENCE_SECONDS + 30
    assert len(psp.charges(key)) == 1


def test_a_slow_charge_can_be_looked_up_while_its_answer_is_awaited(psp, provider, key):
    charges = []
    sending = threading.Thread(target=lambda: charges.append(provider.charge(order(key, "tok_slow_1500"))))
    sending.start()
    wait_until(lambda: provider.lookup(key, None).outcome == ChargeOutcome.SUCCEEDED, "the charge")
    assert charges == [], "the answer was not needed"
    sending.join(60)
    assert [charge.outcome for charge in charges] == [ChargeOutcome.SUCCEEDED]


def test_another_amount_is_taken_and_reported_as_it_is(psp, provider, key):
    charge = provider.charge(order(key, "tok_wrong_amount"))

    assert (charge.outcome, charge.amount) == (ChargeOutcome.SUCCEEDED, 2501)
    assert [row["amount"] for row in psp.charges(key)] == [2501]
    assert provider.lookup(key, None).amount == 2501
    assert provider.charge(order(key, "tok_wrong_amount")) == charge, "sent again, it is the same order"
    back = RefundOrder(f"{key}-back", charge.reference, 2501, "EUR", NOWHERE)
    assert provider.refund(back).outcome == RefundOutcome.SUCCEEDED


@pytest.mark.parametrize("token", ["tok_timeout_before_charge", "tok_slow_12000"])
def test_a_caller_that_leaves_frees_its_thread(psp, impatient, key, token):
    before = threads_of(psp)
    assert impatient.charge(order(key, token)).outcome == ChargeOutcome.UNKNOWN
    wait_until(lambda: threads_of(psp) <= before, "the threads of those who left")


def test_a_reset_is_a_reset(psp, account, key):
    body = b'{"merchant":"%b","amount":1,"currency":"EUR","method":"tok_reset_before_charge","callback_url":"%b"}'
    body %= (account.encode(), NOWHERE.encode())
    head = f"POST /charges HTTP/1.1\r\nHost: x\r\nIdempotency-Key: {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", psp.port), timeout=5) as connected:
        connected.sendall(head.encode() + body)
        with pytest.raises(ConnectionResetError):
            connected.recv(1)


def threads_of(psp):
    with open(f"/proc/{psp.pid}/status") as status:  # noqa: PTH123 - a file of the kernel
        return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))
