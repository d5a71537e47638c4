"""One suite for every provider: what the saga may rely on, whoever takes the money."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from reservations.checkout.provider import (
    BadSignature,
    Charge,
    ChargeOrder,
    ChargeOutcome,
    ProviderAway,
    RefundAnswer,
    RefundOrder,
    RefundOutcome,
)
from tests.checkout.spoiled import spoiled
from tests.checkout.stages import Fate, Stage, Taken, mock, stripe

STAGES = {"mock": mock.stage, "stripe": stripe.stage}
# Stripe wants a 0 at the end of three decimals
PRICES = [("JPY", 80), ("EUR", 1), ("KWD", 1230)]
# a provider's clock may differ a little, and may count whole seconds
AROUND = timedelta(seconds=5)


@pytest.fixture(scope="module", params=STAGES)
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    with STAGES[request.param]() as opened:
        yield opened


def order(stage: Stage, key: str, fate: Fate = Fate.SUCCEEDS, amount: int = 2500, currency: str = "EUR") -> ChargeOrder:
    return ChargeOrder(key, amount, currency, stage.method(fate), stage.callback_url, "Two seats")


def pay(stage: Stage, key: str, amount: int = 2500, currency: str = "EUR") -> Charge:
    charge = stage.provider.charge(order(stage, key, Fate.SUCCEEDS, amount, currency))
    assert charge.outcome == ChargeOutcome.SUCCEEDED
    return charge


def give_back(stage: Stage, charge: Charge, amount: int, refund_key: str) -> RefundAnswer:
    assert charge.reference is not None
    assert charge.currency is not None
    return stage.provider.refund(RefundOrder(refund_key, charge.reference, amount, charge.currency, stage.callback_url))


def only(taken: list[Taken] | tuple[Taken, ...]) -> Taken:
    (one,) = taken
    return one


@pytest.mark.parametrize(("currency", "amount"), PRICES)
def test_a_charge_takes_exactly_what_was_ordered(stage, key, currency, amount):
    charge = pay(stage, key, amount, currency)

    assert (charge.amount, charge.currency, charge.refunded, charge.decline_code) == (amount, currency, 0, None)
    assert only(stage.taken(key)) == Taken(charge.reference, amount, currency, 0)
    assert stage.provider.lookup(key, charge.reference) == charge
    assert stage.provider.lookup(key, None) == charge


def test_a_declined_charge_takes_nothing_and_says_why(stage, key):
    charge = stage.provider.charge(order(stage, key, Fate.DECLINED))

    assert (charge.outcome, charge.decline_code) == (ChargeOutcome.DECLINED, stage.decline_code)
    assert stage.taken(key) == []
    later = stage.provider.lookup(key, charge.reference)
    assert (later.outcome, later.decline_code) == (ChargeOutcome.DECLINED, stage.decline_code)


def test_a_charge_that_took_money_without_an_answer_is_unknown_until_it_is_looked_up(stage, key):
    assert stage.provider.charge(order(stage, key, Fate.UNKNOWN_AND_TAKEN)).outcome == ChargeOutcome.UNKNOWN

    found = stage.provider.lookup(key, None)
    assert (found.outcome, found.amount, found.currency) == (ChargeOutcome.SUCCEEDED, 2500, "EUR")
    assert only(stage.taken(key)).reference == found.reference


def test_a_charge_that_never_took_place_is_unknown_until_it_is_looked_up(stage, key):
    for _ in range(2):
        assert stage.provider.charge(order(stage, key, Fate.UNKNOWN_AND_NOT_TAKEN)).outcome == ChargeOutcome.UNKNOWN

        assert stage.provider.lookup(key, None) == Charge(ChargeOutcome.ABSENT)
    assert stage.taken(key) == []


@pytest.mark.parametrize("fate", [Fate.SUCCEEDS, Fate.UNKNOWN_AND_TAKEN])
def test_a_charge_that_is_sent_again_takes_nothing_more(stage, key, fate):
    first = stage.provider.charge(order(stage, key, fate))
    second = stage.provider.charge(order(stage, key, fate))

    assert first == second
    only(stage.taken(key))


def test_another_charge_under_the_same_key_takes_nothing_more(stage, key):
    paid = pay(stage, key)
    assert stage.provider.charge(order(stage, key, amount=2600)).outcome == ChargeOutcome.UNKNOWN

    assert only(stage.taken(key)).amount == 2500
    assert stage.provider.lookup(key, None) == paid


def test_two_keys_are_two_charges(stage, key):
    assert pay(stage, key).reference != pay(stage, f"{key}-2").reference

    only(stage.taken(key))
    only(stage.taken(f"{key}-2"))


def test_a_key_that_was_never_sent_is_absent(stage, key):
    assert stage.provider.lookup(key, None) == Charge(ChargeOutcome.ABSENT)


@pytest.mark.parametrize(("currency", "amount"), PRICES)
def test_a_refund_of_all_gives_all_back(stage, key, currency, amount):
    charge = pay(stage, key, amount, currency)
    refund = give_back(stage, charge, amount, f"{key}-back")

    assert (refund.outcome, refund.failure_code) == (RefundOutcome.SUCCEEDED, None)
    assert refund.reference
    assert only(stage.taken(key)).refunded == amount
    looked_up = stage.provider.lookup(key, charge.reference)
    assert (looked_up.outcome, looked_up.amount, looked_up.refunded) == (ChargeOutcome.SUCCEEDED, amount, amount)


def test_refunds_of_parts_add_up_and_never_go_beyond(stage, key):
    charge = pay(stage, key)
    outcomes = [give_back(stage, charge, 1000, f"{key}-{number}").outcome for number in range(3)]

    assert outcomes == [RefundOutcome.SUCCEEDED, RefundOutcome.SUCCEEDED, RefundOutcome.FAILED]
    assert only(stage.taken(key)).refunded == 2000
    assert give_back(stage, charge, 500, f"{key}-rest").outcome == RefundOutcome.SUCCEEDED
    assert only(stage.taken(key)).refunded == 2500


def test_a_refund_of_more_than_was_taken_fails_and_says_why(stage, key):
    charge = pay(stage, key)
    refund = give_back(stage, charge, 2501, f"{key}-back")

    assert refund.outcome == RefundOutcome.FAILED
    assert refund.failure_code
    assert only(stage.taken(key)).refunded == 0


def test_a_refund_that_is_sent_again_gives_nothing_more(stage, key):
    charge = pay(stage, key)
    first = give_back(stage, charge, 1000, f"{key}-back")

    assert give_back(stage, charge, 1000, f"{key}-back") == first
    assert only(stage.taken(key)).refunded == 1000


def test_another_refund_under_the_same_key_gives_nothing_more(stage, key):
    charge = pay(stage, key)
    give_back(stage, charge, 1000, f"{key}-back")

    assert give_back(stage, charge, 500, f"{key}-back").outcome != RefundOutcome.SUCCEEDED
    assert only(stage.taken(key)).refunded == 1000


def test_a_declined_charge_can_not_be_refunded(stage, key):
    charge = stage.provider.charge(order(stage, key, Fate.DECLINED))
    if charge.reference is None:
        return  # nothing that a refund could name
    refund = stage.provider.refund(RefundOrder(f"{key}-back", charge.reference, 1, "EUR", stage.callback_url))

    assert refund.outcome == RefundOutcome.FAILED
    assert stage.taken(key) == []


def test_where_nobody_answers_nothing_is_known(stage, key):
    assert stage.away.charge(order(stage, key)) == Charge(ChargeOutcome.UNKNOWN)
    assert stage.away.lookup(key, None) == Charge(ChargeOutcome.UNKNOWN)
    refund = RefundOrder(f"{key}-back", "any", 1, "EUR", stage.callback_url)
    assert stage.away.refund(refund) == RefundAnswer(RefundOutcome.UNKNOWN)
    with pytest.raises(ProviderAway):
        list(stage.away.charges(datetime.now(UTC) - AROUND, datetime.now(UTC)))


def test_a_callback_leads_to_the_charge(stage, key):
    charge = pay(stage, key)
    callback = stage.callback(key)
    news = stage.provider.verify_callback(callback.body, callback.headers)

    assert news.reference in {key, charge.reference}
    assert news.event_id
    assert news.kind
    again = stage.provider.verify_callback(callback.body, callback.headers)
    assert again == news, "a second delivery has the same id"


def test_a_callback_that_was_spoiled_is_refused(stage, key):
    pay(stage, key)
    for callback in spoiled(stage.callback(key)):
        with pytest.raises(BadSignature):
            stage.provider.verify_callback(callback.body, callback.headers)


def test_a_callback_of_another_sender_is_refused(stage, key):
    pay(stage, key)
    forged = stage.callback(key, forged=True)
    with pytest.raises(BadSignature):
        stage.provider.verify_callback(forged.body, forged.headers)


@pytest.mark.parametrize("age_seconds", [301, 3600, 10**9])
def test_a_callback_that_was_signed_long_ago_is_refused(stage, key, age_seconds):
    pay(stage, key)
    old = stage.callback(key, age_seconds=age_seconds)
    with pytest.raises(BadSignature):
        stage.provider.verify_callback(old.body, old.headers)


def test_a_callback_may_take_some_minutes(stage, key):
    pay(stage, key)
    slow = stage.callback(key, age_seconds=240)
    assert stage.provider.verify_callback(slow.body, slow.headers).event_id


def test_the_list_has_every_charge_of_the_time_and_no_other(stage, key):
    began = datetime.now(UTC)
    paid = [pay(stage, f"{key}-{number}", 1000 + number) for number in range(3)]
    give_back(stage, paid[1], 400, f"{key}-back")
    declined = stage.provider.charge(order(stage, f"{key}-no", Fate.DECLINED))

    listed = {charge.key: charge for charge in stage.provider.charges(began - AROUND, datetime.now(UTC) + AROUND)}

    for number, charge in enumerate(paid):
        row = listed[f"{key}-{number}"]
        assert (row.reference, row.outcome) == (charge.reference, ChargeOutcome.SUCCEEDED)
        assert (row.amount, row.currency, row.refunded) == (1000 + number, "EUR", 400 if number == 1 else 0)
        assert began - AROUND <= row.created_at <= datetime.now(UTC) + AROUND
    if f"{key}-no" in listed:
        assert (listed[f"{key}-no"].outcome, declined.outcome) == (ChargeOutcome.DECLINED, ChargeOutcome.DECLINED)
    earlier = stage.provider.charges(began - 3 * AROUND, began - 2 * AROUND)
    assert not {charge.key for charge in earlier} & set(listed) & {f"{key}-{number}" for number in range(3)}
