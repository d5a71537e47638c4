"""An extension and a count of the customer's holds never overlap: a hold can't lapse in one and live in the other."""

import threading

from django.db import connections

from reservations.customers import allowance_lock_name, customer_key
from reservations.operations.holds import extend_hold
from tenants.scope import tenant_transaction


def extend_in_a_thread(tenant, hold, done):
    def run():
        extend_hold(tenant_id=tenant.id, hold_id=hold.id)
        done.set()
        connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_an_extension_waits_for_whoever_counts_what_the_customer_has(tenant, make_event, make_units, ask):
    event = make_event(tenant, units_per_customer_max=2)
    make_units(tenant, event, 2)
    hold = ask(event, "ada@example.org", quantity=1)().hold
    done = threading.Event()
    with tenant_transaction(tenant.id, names=[allowance_lock_name(event.id, customer_key("ada@example.org"))]):
        thread = extend_in_a_thread(tenant, hold, done)
        assert not done.wait(0.5)
    assert done.wait(60)
    thread.join()


def test_an_extension_where_nothing_is_limited_waits_for_nobody(tenant, make_event, make_units, ask):
    event = make_event(tenant)
    make_units(tenant, event, 2)
    hold = ask(event, "ada@example.org", quantity=1)().hold
    done = threading.Event()
    with tenant_transaction(tenant.id, names=[allowance_lock_name(event.id, customer_key("ada@example.org"))]):
        thread = extend_in_a_thread(tenant, hold, done)
        assert done.wait(60)
    thread.join()
