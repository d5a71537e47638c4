"""What the mock provider's adapter makes of answers: one of another form than agreed tells nothing."""

from datetime import UTC, datetime

import pytest

from reservations.checkout.mock import MockProvider
from reservations.checkout.provider import (
    Charge,
    ChargeOrder,
    ChargeOutcome,
    ProviderAway,
    RefundAnswer,
    RefundOrder,
    RefundOutcome,
)
from tests.support.scripted import scripted_server

KEY = "hf-1"
UNKNOWN = Charge(ChargeOutcome.UNKNOWN)
ORDER = ChargeOrder(KEY, 2500, "EUR", "tok_ok", "http://127.0.0.1:9/")
BACK = RefundOrder("hf-2", "mch_1", 1000, "EUR", "http://127.0.0.1:9/")
GOOD = {
    "id": "mch_1",
    "reference": KEY,
    "merchant": "account",
    "amount": 2500,
    "currency": "EUR",
    "status": "succeeded",
    "refunded": 0,
    "decline_code": None,
    "created_at": "2026-01-01T00:00:00+00:00",
}
GOOD_BACK = {"id": "mre_1", "charge": "mch_1", "amount": 1000, "status": "succeeded", "failure_code": None}


@pytest.fixture(scope="module")
def scripted():
    with scripted_server() as server:
        yield server


@pytest.fixture
def provider(scripted):
    return MockProvider(scripted.url, "account", deadline_seconds=2)


def spoiled(good):
    """The good answer with one thing wrong, each in turn."""
    wrong = [None, True, 1.5, -1, "", " ", "x" * 101, "\x00", "é", [], {}, 2**63, 2**70]
    skipped = {"merchant", "decline_code", "failure_code", "created_at"}
    for name in good.keys() - skipped:
        yield {other: value for other, value in good.items() if other != name}
        yield from (good | {name: value} for value in wrong)
    yield from ([], None, "x", 1, {}, [good], {"data": good}, b"", b"{", b"\xff", b"NaN", b"[" * 2000)


def test_a_good_answer_is_read(scripted, provider):
    scripted.answers(201, GOOD)
    assert provider.charge(ORDER) == Charge(ChargeOutcome.SUCCEEDED, "mch_1", 2500, "EUR", 0, None)
    scripted.answers(201, GOOD_BACK)
    assert provider.refund(BACK) == RefundAnswer(RefundOutcome.SUCCEEDED, "mre_1")
    scripted.answers(201, GOOD | {"amount": 2501, "currency": "USD"})
    assert provider.charge(ORDER).currency == "USD", "what was taken is told, whatever was ordered"


def test_an_answer_of_another_form_is_unknown(scripted, provider):
    for answer in spoiled(GOOD):
        scripted.answers(201, answer)
        assert provider.charge(ORDER) == UNKNOWN, answer
        if not isinstance(answer, bytes):
            scripted.answers(200, {"data": [answer], "next": None})
            assert provider.lookup(KEY, None) == UNKNOWN, answer
    for answer in spoiled(GOOD_BACK):
        scripted.answers(201, answer)
        assert provider.refund(BACK).outcome == RefundOutcome.UNKNOWN, answer


@pytest.mark.parametrize(
    "answer",
    [b"", b"{", [], {}, {"data": None}, {"data": {}}, {"data": [GOOD, GOOD]}, {"data": [GOOD | {"reference": "hf-2"}]}],
)
def test_a_list_of_another_form_is_never_an_absence(scripted, provider, answer):
    scripted.answers(200, answer)
    assert provider.lookup(KEY, None) == UNKNOWN


@pytest.mark.parametrize("status", [200, 202, 204, 302, 400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504])
def test_any_status_but_the_agreed_one_is_unknown(scripted, provider, status):
    scripted.answers(status, b"" if status == 204 else GOOD)
    assert provider.charge(ORDER) == UNKNOWN
    assert provider.refund(BACK).outcome == RefundOutcome.UNKNOWN
    if status != 200:
        scripted.answers(status, b"" if status == 204 else {"data": [], "next": None})
        assert provider.lookup(KEY, None) == UNKNOWN


@pytest.mark.parametrize("following", [0, -1, 1.5, "2", True, 1, {}])
def test_a_list_that_does_not_go_on_ends_as_away(scripted, provider, following):
    scripted.answers(200, {"data": [GOOD], "next": following})
    with pytest.raises(ProviderAway):
        list(provider.charges(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)))
