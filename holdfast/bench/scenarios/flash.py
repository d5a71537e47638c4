"""`flash`: 1,000 buyers for 100 units, half by name and half for any. Exactly 100 win; everyone is answered."""

import random
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from holdfast.bench import express
from holdfast.bench.ground import Ground
from holdfast.bench.load import Tally
from holdfast.bench.options import Options
from holdfast.bench.report import Findings
from holdfast.bench.rounds import Arm, take_turns
from holdfast.bench.stock import Stock

BUYERS = 1_000
UNITS = 100
UNIT = "s"


def flash(ground: Ground, options: Options) -> Findings:
    """Seconds until all are answered."""
    tallies: list[Tally] = []

    def holdfast() -> float:
        stock = ground.stock(units_each=UNITS)
        tally = ground.hold(rush(stock, BUYERS), options.connections)
        ground.faults += flash_faults(tally, buyers=BUYERS, units=UNITS)
        tallies.append(tally)
        return tally.elapsed_seconds

    with ExitStack() as stack:
        arms = [Arm("holdfast", holdfast)]
        if options.peer:
            peer = stack.enter_context(express.express(options.peer, ground.environment))
            arms.append(_peer(peer, options))
        figures = take_turns(arms, options.rounds, UNIT)
    ratios = {f"holdfast / {name}": figures["holdfast"].over(figures[name]) for name in figures if name != "holdfast"}
    title = f"{BUYERS} buyers for {UNITS} units over {options.connections} connections, half by name, half for any"
    return Findings(
        title, UNIT, figures, ratios, [f"round {number}: {_told(tally)}" for number, tally in enumerate(tallies, 1)]
    )


def rush(stock: Stock, buyers: int) -> list[dict[str, Any]]:
    """Half of the buyers ask for a label, several for each; half take any; in a random order."""
    return _mixed([*stock.named_bodies(buyers // 2), *stock.any_bodies(buyers - buyers // 2)])


def _mixed(bodies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    # the same order in every round and for every arm
    return random.Random(1).sample(bodies, len(bodies))  # noqa: S311 - spreads load; guards nothing


def flash_faults(tally: Tally, *, buyers: int, units: int) -> list[str]:
    """What is wrong about a rush: winners that are not as many as the units, losers with another answer than 409."""
    faults = []
    answered = sum(tally.statuses.values())
    if answered != buyers:
        faults.append(f"{answered} of {buyers} buyers were answered")
    if tally.granted != units:
        faults.append(f"{tally.granted} buyers won {units} units")
    others = {status: count for status, count in tally.statuses.items() if status not in ("201", "409")}
    if others:
        faults.append(f"losers were answered with {others}")
    return faults


def _told(tally: Tally) -> str:
    server_errors = sum(count for status, count in tally.statuses.items() if status.startswith("5"))
    losers = {status: count for status, count in tally.statuses.items() if status != "201"}
    return f"winners {tally.granted}, losers {losers} {tally.problems}, 5xx {server_errors}"


def _peer(peer: express.Express, options: Options) -> Arm:
    half = BUYERS // 2
    bodies = _mixed([*express.named_bodies(UNITS, half), *express.any_bodies(1, BUYERS - half)])

    def measure() -> float:
        peer.stock(units_each=UNITS)
        return peer.hold(bodies, options.connections).elapsed_seconds

    return Arm("peer", measure)
