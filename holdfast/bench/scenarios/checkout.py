"""`checkout`: orders paid through the mock provider; `slow`: holds beside a provider that takes two seconds."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db import connections

from holdfast.bench.ground import Ground, standing
from holdfast.bench.options import Options
from holdfast.bench.processes import free_port, running
from holdfast.bench.report import Findings
from holdfast.bench.rounds import Arm, take_turns
from holdfast.bench.stock import customer
from reservations.allocation.allocator import allocate
from reservations.allocation.requests import Granted, HoldRequest

HOLDS_A_BATCH = 50
# more than can be paid in a round
ORDERS_A_SECOND_MAX = 400
BUYERS = 16
SLOW_BUYERS = 32
SLOW_METHOD = "tok_slow_2000"
# new holds, at a rate that leaves the machine some room: it is their wait that is measured
HOLD_CONNECTIONS = 2
UNITS = 4_000
SECONDS_MAX = 8.0
LOOK_EVERY_SECONDS = 0.1
# a session that is between two statements of one transaction is seen now and then; one that stays so is not
IDLE_SECONDS_MAX = 1.0
_IDLE = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction' "
    "AND state_change < clock_timestamp() - make_interval(secs => %s)"
)


def checkout(ground: Ground, options: Options) -> Findings:
    """Orders confirmed a second, each of one unit that was held before."""
    seconds = min(options.seconds, SECONDS_MAX)
    lines: list[str] = []

    def pay(shop: Ground) -> float:
        tally = shop.pay(_orders(shop, int(seconds * ORDERS_A_SECOND_MAX), "tok_ok"), BUYERS, seconds)
        lines.append(f"answers {tally.statuses}, {tally.granted_p50_ms:.1f} ms at the median")
        return tally.granted_per_second

    with _shop(ground) as shop:
        figures = take_turns([Arm("orders", lambda: pay(shop))], options.rounds, "orders/s")
    return Findings(f"orders of one unit over {BUYERS} connections, {seconds:g} s", "orders/s", figures, lines=lines)


def slow(ground: Ground, options: Options) -> Findings:
    """The 95th percentile of holds, in milliseconds, quiet and while many wait for a slow provider."""
    seconds = min(options.seconds, SECONDS_MAX)
    lines: list[str] = []

    def quiet(shop: Ground) -> float:
        return shop.hold(shop.stock(units_each=UNITS).any_bodies(), HOLD_CONNECTIONS, seconds).granted_p95_ms

    def beside(shop: Ground) -> float:
        with _paying_slowly(shop, seconds, lines), _watching(shop):
            return quiet(shop)

    with _shop(ground) as shop:
        arms = [Arm("slow", lambda: beside(shop)), Arm("quiet", lambda: quiet(shop))]
        figures = take_turns(arms, options.rounds, "ms")
    title = f"p95 of holds over {HOLD_CONNECTIONS} connections, beside {SLOW_BUYERS} that pay with {SLOW_METHOD}"
    return Findings(title, "ms", figures, {"slow / quiet": figures["slow"].over(figures["quiet"])}, lines)


@contextmanager
def _shop(ground: Ground) -> Iterator[Ground]:
    """A web server that knows a mock provider of its own, and the worker that carries on with payments."""
    manage = [sys.executable, "manage.py"]
    with TemporaryDirectory(prefix="holdfast-bench-") as folder:
        port = free_port()
        told = {
            "HOLDFAST_MOCK_PSP_URL": f"http://127.0.0.1:{port}",
            "HOLDFAST_MOCK_PSP_FILE": str(Path(folder) / "books.sqlite3"),
        }
        environment = {**ground.environment, **told}
        with (
            running([*manage, "mock_psp", "--port", str(port)], environment),
            running([*manage, "work", "payments"], environment),
            standing(environment, "shop") as shop,
        ):
            yield shop
            ground.faults += shop.check()


def _orders(shop: Ground, count: int, method: str) -> list[dict[str, Any]]:
    """Bodies that pay for so many new holds."""
    (event_id,) = shop.stock(units_each=count).event_ids
    made: list[dict[str, Any]] = []
    for start in range(0, count, HOLDS_A_BATCH):
        batch = range(start, min(start + HOLDS_A_BATCH, count))
        asked = [HoldRequest(event_id=event_id, customer=customer(number), quantity=1) for number in batch]
        granted = [one for one in allocate(tenant_id=shop.tenant_id, requests=asked) if isinstance(one, Granted)]
        made += [{"hold": str(one.hold.id), "payment": {"method": method}} for one in granted]
    shop.granted += len(made)
    return made


@contextmanager
def _paying_slowly(shop: Ground, seconds: float, lines: list[str]) -> Iterator[None]:
    orders = _orders(shop, int(seconds * SLOW_BUYERS * 4), SLOW_METHOD)

    def run() -> None:
        tally = shop.pay(orders, SLOW_BUYERS, seconds)
        lines.append(f"slow checkouts answered {tally.statuses}")

    with _thread(run):
        time.sleep(min(1.0, seconds / 4))  # they are under way
        yield


@contextmanager
def _watching(shop: Ground) -> Iterator[None]:
    """A transaction that stays idle meanwhile is a fault: somebody waits for the provider inside it."""
    done = threading.Event()

    def run() -> None:
        seen = 0
        with connections["owner"].cursor() as cursor:
            while not done.wait(LOOK_EVERY_SECONDS):
                cursor.execute(_IDLE, [IDLE_SECONDS_MAX])
                seen += cursor.fetchone()[0]
        connections.close_all()
        if seen:
            shop.faults.append(f"{seen} times a session was idle in a transaction for more than {IDLE_SECONDS_MAX:g} s")

    with _thread(run):
        try:
            yield
        finally:
            done.set()


@contextmanager
def _thread(run: Any) -> Iterator[None]:
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
