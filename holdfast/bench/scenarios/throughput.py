"""`hot` and `spread`: holds a second, one unit a hold, any unit, on one event or over many."""

import math
from contextlib import ExitStack
from dataclasses import replace

from holdfast.bench import express
from holdfast.bench.figures import Figures
from holdfast.bench.floor import floor
from holdfast.bench.ground import Ground
from holdfast.bench.options import Options
from holdfast.bench.report import Findings
from holdfast.bench.rounds import Arm, take_turns
from holdfast.bench.stock import BODIES
from reservations.models.event import UNITS_PER_EVENT_MAX

SPREAD_EVENTS = 200
# stock for more than a web server can hold in a second, so that none runs out; the floor sees to its own
UNITS_A_SECOND = 4_000
# the peer is taken at the better of these
PEER_CONNECTIONS = (32, 64)
UNIT = "holds/s"


def hot(ground: Ground, options: Options) -> Findings:
    """One event; a load of at most 25 s, for an event has at most UNITS_PER_EVENT_MAX units."""
    return _throughput(ground, options, events=1)


def spread(ground: Ground, options: Options) -> Findings:
    """200 events in turn."""
    return _throughput(ground, options, events=SPREAD_EVENTS)


def stocked_seconds(seconds: float, events: int) -> float:
    """As many as asked for, and no more than the largest stock lasts."""
    return min(seconds, events * UNITS_PER_EVENT_MAX / UNITS_A_SECOND)


def _throughput(ground: Ground, options: Options, events: int) -> Findings:
    options = replace(options, seconds=stocked_seconds(options.seconds, events))
    units_each = math.ceil(options.seconds * UNITS_A_SECOND / events)
    lines: list[str] = []
    with ExitStack() as stack:
        arms = [Arm("holdfast", lambda: holds_per_second(ground, options, events, units_each, lines))]
        if options.noop:
            arms.append(_noop(ground, options))
        if options.peer:
            peer = stack.enter_context(express.express(options.peer, ground.environment))
            arms += [_peer(peer, options, events, units_each, connections) for connections in PEER_CONNECTIONS]
        if options.floor:
            below = floor(options.floor, ground.environment)
            arms.append(Arm(below.name, lambda: below.per_second(events=events, seconds=options.seconds)))
        figures = take_turns(arms, options.rounds, UNIT)
    title = f"{events} event{'s' if events > 1 else ''} of {units_each} units, one unit a hold, fresh stock a round"
    length = f"{options.connections} connections, {options.seconds:g} s a load"
    return Findings(f"{title}, {length}", UNIT, figures, _ratios(figures), lines)


def holds_per_second(ground: Ground, options: Options, events: int, units_each: int, lines: list[str]) -> float:
    """One load on fresh stock."""
    stock = ground.stock(events=events, units_each=units_each)
    tally = ground.hold(stock.any_bodies(), options.connections, options.seconds)
    lines.append(
        f"{tally.granted} holds, {tally.granted_p50_ms:.1f} ms at the median, "
        f"{tally.granted_p95_ms:.1f} ms at 95 %, refused {tally.problems or 'none'}"
    )
    # contention is an honest answer; with stock for all, any other refusal is wrong
    others = {kind: count for kind, count in tally.problems.items() if kind != "contention"}
    ground.faults += [f"refused as {kind} {count} times" for kind, count in others.items()]
    return tally.granted_per_second


def _noop(ground: Ground, options: Options) -> Arm:
    bodies = ground.stock(units_each=1).any_bodies()
    return Arm("noop", lambda: ground.noop(bodies, options.connections, options.seconds).granted_per_second)


def _peer(peer: express.Express, options: Options, events: int, units_each: int, connections: int) -> Arm:
    bodies = express.any_bodies(events, BODIES)

    def measure() -> float:
        peer.stock(events=events, units_each=units_each)
        return peer.hold(bodies, connections, options.seconds).granted_per_second

    return Arm(f"peer-{connections}", measure)


def _ratios(figures: dict[str, Figures]) -> dict[str, Figures]:
    """HoldFast ÷ each other arm; the peer counts at its better number of connections."""
    ours = figures["holdfast"]
    peers = [name for name in figures if name.startswith("peer-")]
    better = max(peers, key=lambda name: figures[name].median, default=None)
    others = [name for name in figures if name != "holdfast" and (name not in peers or name == better)]
    return {f"holdfast / {name}": ours.over(figures[name]) for name in others}
