"""`size`: a lone buyer's hold in an event of 100,000 units beside one of 100."""

from holdfast.bench.ground import Ground
from holdfast.bench.options import Options
from holdfast.bench.report import Findings
from holdfast.bench.rounds import Arm, take_turns
from holdfast.bench.stock import Stock

SMALL_UNITS = 100
LARGE_UNITS = 100_000
# of a small event's units, no more than this is held, so that it never is a search for the last ones
SMALL_HOLDS = 60
SMALL_EVENTS = 6
HOLDS_A_ROUND = SMALL_HOLDS * SMALL_EVENTS
UNIT = "ms"


def size(ground: Ground, options: Options) -> Findings:
    """The median of a round's holds, in milliseconds."""
    large = ground.stock(units_each=LARGE_UNITS)

    def in_large() -> float:
        return _p50_ms(ground, large)

    def in_small() -> float:
        return _p50_ms(ground, ground.stock(events=SMALL_EVENTS, units_each=SMALL_UNITS))

    arms = [Arm("100000 units", in_large), Arm("100 units", in_small)]
    figures = take_turns(arms, options.rounds, UNIT)
    ratio = figures["100000 units"].over(figures["100 units"])
    title = f"a lone client, {HOLDS_A_ROUND} holds of one unit a round"
    return Findings(title, UNIT, figures, {"100000 units / 100 units": ratio})


def _p50_ms(ground: Ground, stock: Stock) -> float:
    tally = ground.hold(stock.any_bodies(HOLDS_A_ROUND), connections=1)
    if tally.granted != HOLDS_A_ROUND:
        ground.faults.append(f"{tally.granted} of {HOLDS_A_ROUND} lone holds were granted: {tally.problems}")
    return tally.granted_p50_ms
