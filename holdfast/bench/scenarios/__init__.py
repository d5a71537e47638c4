"""Every scenario by its name, and which other arms it can have."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from holdfast.bench.ground import Ground
from holdfast.bench.options import Options
from holdfast.bench.report import Findings
from holdfast.bench.scenarios.chaos import chaos
from holdfast.bench.scenarios.checkout import checkout, slow
from holdfast.bench.scenarios.deliveries import deliveries
from holdfast.bench.scenarios.flash import flash
from holdfast.bench.scenarios.hanging import hanging
from holdfast.bench.scenarios.relay import relay
from holdfast.bench.scenarios.size import size
from holdfast.bench.scenarios.sweep import sweep
from holdfast.bench.scenarios.throughput import hot, spread


@dataclass(frozen=True, slots=True)
class Scenario:
    """`arms` are the options that add an arm to it."""

    run: Callable[[Ground, Options], Findings]
    arms: frozenset[str]


_ALL_ARMS = frozenset({"peer", "floor", "noop"})
SCENARIOS: Mapping[str, Scenario] = {
    "flash": Scenario(flash, frozenset({"peer"})),
    "hot": Scenario(hot, _ALL_ARMS),
    "spread": Scenario(spread, _ALL_ARMS),
    "size": Scenario(size, frozenset()),
    "sweep": Scenario(sweep, frozenset()),
    "checkout": Scenario(checkout, frozenset()),
    "slow": Scenario(slow, frozenset()),
    "deliveries": Scenario(deliveries, frozenset()),
    "relay": Scenario(relay, frozenset()),
    "hanging": Scenario(hanging, frozenset()),
    "chaos": Scenario(chaos, frozenset()),
}
