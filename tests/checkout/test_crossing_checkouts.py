"""One hold, and many who pay for it at once: one order, one charge, and nobody undoes what another did."""

from collections import Counter
from typing import Any

import pytest

from reservations.checkout import saga
from reservations.checkout.answers import Answer
from tests.checkout.sale import Sale
from tests.support.client import Api

AT_ONCE = 20
LOSERS = {"checkout-in-progress", "hold-converted", "contention"}


def is_sold_once(sale: Sale, hold: str) -> None:
    sale.recover_fully()
    assert sale.story(hold) == ("confirmed", None, ["succeeded"], [])
    assert len(sale.charges(hold)) == 1
    assert set(sale.statuses().values()) == {"sold"}
    sale.judge()


def test_with_twenty_keys_one_pays_and_the_others_hear_of_it(sale, run_together):
    hold = sale.hold()
    words = Counter(run_together([lambda: sale.pay(hold) for _ in range(AT_ONCE)]))
    # one who finds no thread to wait in leaves it to a worker
    assert words["201"] + words["202"] == 1, words
    assert words.keys() <= {"201", "202"} | LOSERS, words
    is_sold_once(sale, hold)
    assert sale.pay(hold) == "hold-converted"


def test_with_one_key_it_is_one_checkout(sale, run_together):
    hold = sale.hold()
    words = Counter(run_together([lambda: sale.pay(hold, key="one") for _ in range(AT_ONCE)]))
    assert words["201"] + words["202"] >= 1, words
    assert words.keys() <= {"201", "202", "idempotency-in-flight", "contention"}, words
    is_sold_once(sale, hold)
    assert sale.pay(hold, key="one") == "201"
    assert sale.pay(hold, "tok_declined", key="one") == "idempotency-key-reused"
    sale.judge()


@pytest.mark.parametrize("keys", [1, AT_ONCE])
def test_over_http_too(sale, paying_web, run_together, keys):
    hold = sale.hold()
    api = paying_web.api(sale.key)

    def pay(number: int) -> Any:
        return checked_out(api, hold, f"key-{number % keys}")

    answers = run_together([lambda number=number: pay(number) for number in range(AT_ONCE)])
    statuses = Counter(answer.status_code for answer in answers)
    assert statuses.keys() <= {201, 202, 409}, statuses
    assert statuses[201] + statuses[202] >= 1
    for answer in answers:
        if answer.status_code == 409 and not answer.json()["type"].endswith("hold-converted"):
            assert int(answer.headers["retry-after"]) >= 1
    is_sold_once(sale, hold)
    orders = {answer.json()["id"] for answer in answers if answer.status_code < 300}
    assert orders == {str(order.id) for order in sale.orders()}
    again = pay(0)
    if keys == 1:
        assert (again.status_code, again.headers["idempotency-replayed"]) == (201, "true")
    sale.judge()


def checked_out(api: Api, hold: str, key: str, method: str = "tok_ok") -> Any:
    body = {"hold": hold, "payment": {"method": method}}
    return api.post("/v1/orders", body, headers={"Idempotency-Key": key})


def test_one_of_five_fails_after_the_money_was_taken_and_refunds_nothing_of_the_others(sale, run_together, monkeypatch):
    """Whichever of them charged: his failure is nobody's refund, and whoever comes next finds his money."""
    hold = sale.hold()
    failures = []
    original = saga.settle

    def settle(**arguments: Any) -> Answer:
        if not failures:
            failures.append(arguments["begun"])
            raise ConnectionError("after the money was taken")
        return original(**arguments)

    monkeypatch.setattr(saga, "settle", settle)
    words = run_together([lambda: sale.pay(hold) for _ in range(5)])
    assert [type(word) for word in words].count(ConnectionError) == 1, words
    assert {word for word in words if isinstance(word, str)} <= LOSERS, words
    sale.recover()
    is_sold_once(sale, hold)


def test_a_decline_and_another_method_at_once_are_paid_at_most_once(sale, run_together):
    hold = sale.hold()
    methods = ["tok_declined", "tok_ok"] * 5
    words = run_together([lambda method=method: sale.pay(hold, method) for method in methods])
    assert not [word for word in words if isinstance(word, BaseException)], words
    sale.recover_fully()
    if sale.order(hold).status == "pending":  # the declined ones were all that got in
        assert sale.pay(hold) == "201"
    charges = [charge for charge in sale.charges(hold) if charge["status"] == "succeeded"]
    assert len(charges) == 1
    assert sale.order(hold).status == "confirmed"
    sale.judge()


@pytest.mark.parametrize("round_", range(5))
def test_paying_releasing_and_cancelling_at_once_leave_one_end(sale, run_together, round_):
    hold = sale.hold()
    assert sale.pay(hold, "tok_declined") == "payment-declined"
    order = str(sale.order(hold).id)
    acts = [lambda: sale.pay(hold), lambda: sale.cancel(order), lambda: sale.release(hold), lambda: sale.pay(hold)]
    words = run_together(acts)
    assert not [word for word in words if isinstance(word, BaseException)], words
    sale.recover_fully()
    ended = sale.order(hold)
    kept = {"confirmed": {"sold"}, "cancelled": {"available"}, "failed": {"available"}}[ended.status]
    assert set(sale.statuses().values()) == kept, (words, ended.status)
    sale.judge()
