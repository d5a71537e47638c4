"""Statistics of the rounds: median and range, and ratios of two arms taken round by round. Pure."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Figures:
    """One figure a round, in the order of the rounds."""

    rounds: tuple[float, ...]

    @classmethod
    def of(cls, rounds: Sequence[float]) -> Self:
        """Raises ValueError where there is no round."""
        if not rounds:
            raise ValueError("no rounds")
        return cls(tuple(rounds))

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def min(self) -> float:
        return min(self.rounds)

    @property
    def max(self) -> float:
        return max(self.rounds)

    def over(self, other: "Figures") -> "Figures":
        """This arm ÷ the other, round by round: what both met in a round (a busy neighbour) cancels out.

        Where the other did nothing in a round there is no ratio; raises ValueError where that is so in all.
        """
        pairs = zip(self.rounds, other.rounds, strict=True)
        return Figures.of([mine / theirs for mine, theirs in pairs if theirs])

    def as_json(self) -> dict[str, Any]:
        return {
            "rounds": [rounded(figure) for figure in self.rounds],
            "median": rounded(self.median),
            "min": rounded(self.min),
            "max": rounded(self.max),
        }


def rounded(figure: float) -> float:
    """Four significant digits: more would be noise."""
    return float(f"{figure:.4g}")


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of all don't exceed; 0 of none."""
    if not values:
        return 0.0
    ranked = sorted(values)
    rank = -(-len(ranked) * percent // 100)  # rounded up
    return ranked[max(int(rank), 1) - 1]
