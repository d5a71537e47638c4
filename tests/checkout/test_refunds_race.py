"""Refunds at once: nothing goes back twice, money, units and allowance alike."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from reservations.models import Hold, Payment, Refund, Ticket
from reservations.queries.tickets import token_maker
from tenants.scope import tenant_transaction
from tests.checkout.sale import PRICE, Sale
from tests.support.acts import ACTS, buy

KEY = "the-key"
AT_ONCE = 20


def redeem(sale: Sale, ticket: Ticket, gate: str = "Gate") -> str:
    return ACTS["redeem"](sale.tenant, token=token_maker()(ticket), gate=gate)


def test_twenty_whole_refunds_at_once_give_it_back_once(sale, run_together):
    order = sale.sell()
    words = Counter(run_together([lambda: sale.refund(order) for _ in range(AT_ONCE)]))
    assert words["200"] == 1, words
    assert words.keys() <= {"200", "nothing-to-refund", "contention"}, words
    (refunded,) = sale.orders()
    assert (refunded.status, sale.kept(refunded)) == ("refunded", 0)
    assert set(sale.statuses().values()) == {"available"}
    sale.judge()


def test_twenty_with_one_key_are_one_refund(sale, run_together):
    order = sale.sell()
    words = Counter(run_together([lambda: sale.refund(order, key=KEY) for _ in range(AT_ONCE)]))
    assert words["200"] >= 1, words
    assert words.keys() <= {"200", "idempotency-in-flight", "contention"}, words
    assert sale.refund(order, key=KEY) == "200"
    with tenant_transaction(sale.tenant):
        assert Refund.objects.count() == 1
    sale.judge()


@pytest.mark.parametrize("round_", range(5))
def test_refunds_of_items_and_of_the_whole_at_once_share_it(make_sale, run_together, round_):
    sale = make_sale(4)
    order = sale.sell()
    units = [str(unit.id) for unit in sale.units]
    wishes = [[units[0]], [units[0], units[1]], [units[1]], units[2:], None, None]
    random.shuffle(wishes)
    words = run_together([lambda wish=wish: sale.refund(order, wish) for wish in wishes])
    assert set(words) <= {"200", "invalid", "nothing-to-refund", "contention"}, words
    sale.recover_fully()
    (refunded,) = sale.orders()
    gone = [ticket for ticket in sale.tickets() if ticket.returned]
    assert sale.kept(refunded) == (4 - len(gone)) * PRICE
    (charge,) = sale.charges(str(refunded.hold_id))
    assert sum(refund["amount"] for refund in sale.psp.refunds(charge["id"])) == len(gone) * PRICE
    sale.judge()


def test_a_redeem_beside_a_refund_is_before_it_or_refused(make_sale, run_together):
    sale = make_sale(6)
    order = sale.sell()
    tickets = sale.tickets()
    acts: list[Any] = [lambda ticket=ticket: redeem(sale, ticket) for ticket in tickets]
    words = run_together([*acts, lambda: sale.refund(order)])
    assert words.pop() == "200"
    assert set(words) <= {"redeemed", "ticket-void"}, words
    for word, ticket in zip(words, sale.tickets(), strict=True):
        assert ticket.status == "void"
        assert (ticket.redeemed_at is not None) == (word == "redeemed")
        assert redeem(sale, ticket) == "ticket-void"
    sale.judge()


def test_the_customers_allowance_returns_once(make_sale, run_together):
    sale = make_sale(4, units_per_customer_max=2)
    order = sale.sell("A-1", "A-2")
    assert buy(sale.tenant, str(sale.event.id), "ada", labels=["A-3"]) == "limit-exceeded"
    units = [str(unit.id) for unit in sale.units]
    run_together([lambda: sale.refund(order, units[:1]) for _ in range(5)])
    sale.sell("A-3")
    assert buy(sale.tenant, str(sale.event.id), "ada", labels=["A-4"]) == "limit-exceeded"
    run_together([lambda: sale.refund(order) for _ in range(5)])
    sale.sell("A-4")
    assert buy(sale.tenant, str(sale.event.id), "ada", labels=["A-1"]) == "limit-exceeded"
    sale.judge()


@pytest.mark.gate
def test_an_order_of_ten_in_any_order_ends_as_the_ledger_says(make_sale, run_together, rounds):
    """`--rounds 200` is twenty orders."""
    for seed in range(max(1, len(rounds) // 10)):
        sale = make_sale(10)
        order = sale.sell()
        acts = everything_at_once(sale, order, random.Random(seed))
        while acts:
            run_together([acts.pop() for _ in range(min(3, len(acts)))])
            sale.recover(16)
        sale.recover_fully()
        assert all(ticket.returned for ticket in sale.tickets())
        assert sale.kept(sale.orders()[0]) == 0
        with tenant_transaction(sale.tenant):
            off_sale = sum(len(refund.items) for refund in Refund.objects.filter(restock=False))
            assert Hold.objects.get().returned == 10
        left = {"available": 10 - off_sale, "blocked": off_sale}
        assert Counter(sale.statuses().values()) == Counter(left), left
        sale.judge()


def everything_at_once(sale: Sale, order: str, chance: random.Random) -> list[Callable[[], Any]]:
    """Some are checked in, some refunded with restock and without, the order cancelled and refunded as a whole, and the
    provider tells of each again; in any order."""
    units = [str(unit.id) for unit in sale.units]

    def of_two(*, restock: bool) -> Callable[[], Any]:
        some = chance.sample(units, 2)
        return lambda: sale.refund(order, some, restock=restock)

    acts: list[Callable[[], Any]] = [lambda ticket=ticket: redeem(sale, ticket) for ticket in sale.tickets()[:3]]
    acts += [of_two(restock=restock) for restock in (True, False, True, False)]
    acts += [lambda: sale.cancel(order), *[lambda: sale.refund(order)] * 2, *[lambda: tell_of_everything(sale)] * 2]
    chance.shuffle(acts)
    return acts


def tell_of_everything(sale: Sale) -> int:
    """The provider's callbacks about all there is, again."""
    with tenant_transaction(sale.tenant):
        subjects = [*Payment.objects.all(), *Refund.objects.all()]
    return sum(sale.tell(subject.provider_key) for subject in subjects)
