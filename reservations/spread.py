"""The order in which any-N takes units: neighbours together, blocks of neighbours in random order. Pure.

If every buyer scanned from the same first unit, each would walk over all that the others have locked or taken. So each
block of neighbours gets a random place of its own in the event's order, and each buyer starts at a random point.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import groupby

BLOCK_UNITS_MAX = 16
SPREAD_MAX = 2**62


def spread_keys(places: Sequence[tuple[str, str]]) -> Iterator[int]:
    """A scan key for each unit, given the (section, row) of each in the order of their creation.

    Keys are below SPREAD_MAX + BLOCK_UNITS_MAX. Two blocks may fall on one place; that only mixes their units.
    """
    for _, group in groupby(places):
        for position, _ in enumerate(group):
            within = position % BLOCK_UNITS_MAX
            if within == 0:
                block = random_start()
            yield block + within


def random_start() -> int:
    """Where a block lies, or where a scan begins."""
    return random.randrange(SPREAD_MAX)  # noqa: S311 - spreads load; guards nothing
