"""Arms take turns: A B, B A, A B …, so that a machine that gets slower or faster favours none."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.bench.figures import Figures, rounded
from holdfast.embedded.console import say


@dataclass(frozen=True, slots=True)
class Arm:
    """One thing that is measured; `measure` answers one round's figure."""

    name: str
    measure: Callable[[], float]


def take_turns(arms: Sequence[Arm], rounds: int, unit: str) -> dict[str, Figures]:
    """Each arm once a round, in the order of the arms and back; the figures of each arm by its name."""
    found: Mapping[str, list[float]] = {arm.name: [] for arm in arms}
    for number in range(rounds):
        for arm in arms if number % 2 == 0 else reversed(arms):
            figure = arm.measure()
            found[arm.name].append(figure)
            say(f"round {number + 1} of {rounds}: {arm.name} {rounded(figure):g} {unit}")
    return {name: Figures.of(figures) for name, figures in found.items()}
