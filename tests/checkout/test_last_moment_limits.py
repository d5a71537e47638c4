"""A hold that is paid as it ends counts for its customer: who counts then waits for it."""

import threading

from django.db import connections

from holdfast.kernel.clock import database_now
from reservations.checkout import begin as begin_module
from reservations.checkout import confirm as confirm_module
from reservations.models import Hold
from tenants.scope import tenant_transaction
from tests.support import database
from tests.support.acts import buy


def pay(sale, hold, words):
    """In a thread of its own."""
    try:
        words.append(sale.pay(hold))
    finally:
        connections.close_all()


def test_a_hold_that_is_paid_in_its_last_moment_counts_for_its_customer(make_sale, monkeypatch):
    sale = make_sale(4, units_per_customer_max=2)
    hold = sale.hold("A-1", "A-2")
    with tenant_transaction(sale.tenant):
        end = Hold.objects.get(id=hold).expires_at
    database.advance_clock((end - database_now()).total_seconds() - 5)
    pushed, go_on = threading.Event(), threading.Event()
    original = begin_module._order

    def order(*args):
        pushed.set()
        assert go_on.wait(60)
        return original(*args)

    monkeypatch.setattr(begin_module, "_order", order)
    words = []
    paying = threading.Thread(target=pay, args=(sale, hold, words))
    paying.start()
    assert pushed.wait(60)
    # the hold's end comes while the first step of its checkout commits
    database.advance_clock(6)
    more = buy(sale.tenant, str(sale.event.id), "ada", labels=["A-3", "A-4"])
    go_on.set()
    paying.join(60)
    assert words == ["201"]
    assert more in ("limit-exceeded", "contention")


def test_a_hold_that_is_converted_in_its_last_moment_counts_for_its_customer(make_sale, monkeypatch):
    sale = make_sale(4, units_per_customer_max=2)
    hold = sale.hold("A-1", "A-2")
    with tenant_transaction(sale.tenant):
        end = Hold.objects.get(id=hold).expires_at
    converted, go_on = threading.Event(), threading.Event()
    original = confirm_module._convert

    def convert(order):
        database.advance_clock((end - database_now()).total_seconds() - 5)
        keeper = original(order)
        converted.set()
        assert go_on.wait(60)
        return keeper

    monkeypatch.setattr(confirm_module, "_convert", convert)
    words = []
    paying = threading.Thread(target=pay, args=(sale, hold, words))
    paying.start()
    assert converted.wait(60)
    database.advance_clock(6)
    more = buy(sale.tenant, str(sale.event.id), "ada", labels=["A-3", "A-4"])
    go_on.set()
    paying.join(60)
    assert words == ["201"]
    assert more in ("limit-exceeded", "contention")
