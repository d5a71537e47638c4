"""`sweep`: 10,000 holds that lapsed at once are swept while new holds go on."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections

from holdfast.bench.backlog import make_lapsed_holds
from holdfast.bench.ground import Ground
from holdfast.bench.load import Tally
from holdfast.bench.options import Options
from holdfast.bench.report import Findings
from holdfast.bench.rounds import Arm, take_turns
from reservations.expiry import sweep as sweep_all

LAPSED = 10_000
UNITS = 4_000
# new holds, at a rate that leaves the machine some room: it is their wait that is measured
CONNECTIONS = 2
SECONDS_MAX = 6.0
UNIT = "ms"


def sweep(ground: Ground, options: Options) -> Findings:
    """The 95th percentile of a round's holds, in milliseconds, quiet and beside the sweep; and both rates."""
    seconds = min(options.seconds, SECONDS_MAX)
    placed: list[float] = []
    swept: list[float] = []

    def quiet() -> float:
        tally = _hold(ground, seconds)
        placed.append(tally.granted_per_second)
        return tally.granted_p95_ms

    def beside_the_sweep() -> float:
        (event_id,) = ground.stock(units_each=LAPSED).event_ids
        ground.granted += make_lapsed_holds(ground.tenant_id, event_id)
        with _sweeping(swept, ground):
            return _hold(ground, seconds).granted_p95_ms

    figures = take_turns([Arm("sweeping", beside_the_sweep), Arm("quiet", quiet)], options.rounds, UNIT)
    ratios = {"sweeping / quiet": figures["sweeping"].over(figures["quiet"])}
    lines = [
        f"swept {rate:,.0f} holds/s, placed {other:,.0f} holds/s" for rate, other in zip(swept, placed, strict=True)
    ]
    title = f"{LAPSED:,} lapsed holds; p95 of new holds over {CONNECTIONS} connections"
    return Findings(title, UNIT, figures, ratios, lines)


def _hold(ground: Ground, seconds: float) -> Tally:
    return ground.hold(ground.stock(units_each=UNITS).any_bodies(), CONNECTIONS, seconds)


@contextmanager
def _sweeping(rates: list[float], ground: Ground) -> Iterator[None]:
    """Sweep in a thread of this process, which does nothing else meanwhile, as a worker would; note its rate."""

    def run() -> None:
        began = time.monotonic()
        expired = sweep_all()
        rates.append(expired / (time.monotonic() - began))
        if expired < LAPSED:
            ground.faults.append(f"{expired} of {LAPSED} lapsed holds were swept")
        connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
