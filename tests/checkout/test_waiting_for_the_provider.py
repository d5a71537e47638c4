"""While a provider takes its time, no transaction is open, no row is locked, and holds on the same event go on."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections

from reservations.checkout.waits import THREADS_MAX
from tests.checkout.sale import Sale
from tests.reservations.state import OthersLock
from tests.support import redis_database
from tests.support.processes import Background, background, wait_until
from tests.support.web import Web

CHECKOUTS = 32
MANY_CHECKOUTS = THREADS_MAX + 40
PROVIDER_SECONDS = 4
# a session that pauses so long inside a transaction waits for something outside of the database
IDLE_SECONDS = 2.5
# a hold that took so long would have waited for the provider
HOLD_P95_SECONDS = 3
SETTLED_WITHIN_SECONDS = 90


@pytest.fixture
def programs(database_name: str) -> Iterator[Background]:
    redis_database.flush()
    with background() as programs:
        yield programs
    redis_database.flush()


def idle_in_transaction() -> list[Any]:
    """Sessions on this database that have done nothing for a while inside a transaction."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            """
            SELECT pid, query FROM pg_stat_activity
            WHERE datname = current_database() AND state LIKE 'idle in transaction%%'
              AND clock_timestamp() - state_change > make_interval(secs => %s)
            """,
            [IDLE_SECONDS],
        )
        return cursor.fetchall()


@contextmanager
def watched() -> Iterator[list[Any]]:
    """What `idle_in_transaction` sees, again and again, until the block ends."""
    seen: list[Any] = []
    ended = threading.Event()

    def watch() -> None:
        try:
            while not ended.wait(0.1):
                seen.extend(idle_in_transaction())
        finally:
            connections.close_all()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        ended.set()
        watcher.join()


def test_the_watch_sees_a_session_that_waits_inside_a_transaction(sale: Sale) -> None:
    with watched() as seen, OthersLock(sale.tenant, sale.units[0].id):
        wait_until(lambda: seen, "the session that does nothing")


def test_thirty_two_slow_payments_keep_no_transaction_open_and_no_hold_waiting(
    make_sale: Callable[..., Sale], paying_web: Web, programs: Background, psp: Any, receiving: Any
) -> None:
    sale = make_sale(CHECKOUTS + 200)
    api = paying_web.api(sale.key)
    held = [sale.hold(unit.label) for unit in sale.units[:CHECKOUTS]]

    def pay(hold: str) -> int:
        body = {"hold": hold, "payment": {"method": f"tok_slow_{PROVIDER_SECONDS}000"}}
        return int(api.post("/v1/orders", body, headers={"Idempotency-Key": hold}).status_code)

    programs.worker("payments", **psp.variables, HOLDFAST_PUBLIC_URL=receiving.url.partition("/v1")[0])
    with watched() as idle, ThreadPoolExecutor(CHECKOUTS) as buyers:
        paying = [buyers.submit(pay, hold) for hold in held]
        took = []
        for unit in sale.units[CHECKOUTS:]:
            began = time.monotonic()
            body = {"event": str(sale.event.id), "labels": [unit.label], "customer": "bob"}
            assert api.post("/v1/holds", body).status_code == 201
            took.append(time.monotonic() - began)
            if all(payment.done() for payment in paying) and len(took) > 20:
                break
        words = [payment.result() for payment in paying]
        wait_until(
            lambda: all(order.status == "confirmed" for order in sale.orders()), "the worker", SETTLED_WITHIN_SECONDS
        )
    assert idle == []
    assert sorted(took)[int(len(took) * 0.95)] < HOLD_P95_SECONDS, took
    assert set(words) <= {201, 202}
    assert len(sale.orders()) == CHECKOUTS
    sale.judge()


def test_holds_are_granted_while_more_pay_than_there_are_threads(
    make_sale: Callable[..., Sale], paying_web: Web
) -> None:
    """The provider is quick enough to be waited for; whoever finds no thread is told to come again."""
    sale = make_sale(MANY_CHECKOUTS + 200)
    api = paying_web.api(sale.key)
    held = [sale.hold(unit.label) for unit in sale.units[:MANY_CHECKOUTS]]

    def pay(hold: str) -> int:
        body = {"hold": hold, "payment": {"method": "tok_slow_200"}}
        return int(api.post("/v1/orders", body, headers={"Idempotency-Key": hold}).status_code)

    with ThreadPoolExecutor(MANY_CHECKOUTS) as buyers:
        paying = [buyers.submit(pay, hold) for hold in held]
        took = []
        for unit in sale.units[MANY_CHECKOUTS:]:
            began = time.monotonic()
            body = {"event": str(sale.event.id), "labels": [unit.label], "customer": "bob"}
            assert api.post("/v1/holds", body).status_code == 201
            took.append(time.monotonic() - began)
            if all(payment.done() for payment in paying):
                break
        words = [payment.result() for payment in paying]
    assert sorted(took)[int(len(took) * 0.95)] < HOLD_P95_SECONDS, took
    assert set(words) <= {201, 202, 503}
    assert words.count(201) > THREADS_MAX // 2
    assert words.count(503) <= MANY_CHECKOUTS - THREADS_MAX
    sale.recover_fully()
    sale.judge()
