"""The order in which any-N takes units: neighbours together, blocks anywhere."""

from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from reservations.spread import BLOCK_UNITS_MAX, SPREAD_MAX, random_start, spread_keys

PLACES = st.lists(st.tuples(st.sampled_from(["", "Stalls", "Balcony"]), st.sampled_from("ABC")), max_size=120)
BIGINT_MAX = 2**63 - 1


def blocks(places: list[tuple[str, str]], keys: list[int]) -> list[list[int]]:
    """The keys of each run of neighbours, cut into pieces of at most BLOCK_UNITS_MAX."""
    rest = iter(keys)
    found = []
    for _, group in groupby(places):
        run = [next(rest) for _ in group]
        found += [run[start : start + BLOCK_UNITS_MAX] for start in range(0, len(run), BLOCK_UNITS_MAX)]
    return found


@given(PLACES)
def test_every_unit_has_a_key_that_the_column_can_hold(places: list[tuple[str, str]]) -> None:
    keys = list(spread_keys(places))
    assert len(keys) == len(places)
    assert all(0 <= key < SPREAD_MAX + BLOCK_UNITS_MAX <= BIGINT_MAX for key in keys)


@given(PLACES)
def test_the_keys_of_neighbours_ascend_one_by_one_within_a_block(places: list[tuple[str, str]]) -> None:
    for block in blocks(places, list(spread_keys(places))):
        assert all(after == before + 1 for before, after in pairwise(block))


@given(st.integers(min_value=2, max_value=200))
def test_a_long_row_is_no_single_block(count: int) -> None:
    keys = list(spread_keys([("Stalls", "A")] * count))
    starts = [block[0] for block in blocks([("Stalls", "A")] * count, keys)]
    assert len(starts) == -(-count // BLOCK_UNITS_MAX)
    assert len(set(starts)) == len(starts)


def test_another_row_or_section_begins_another_block() -> None:
    first, second, third, fourth = spread_keys([("S", "A"), ("S", "B"), ("T", "B"), ("S", "A")])
    assert len({first, second, third, fourth}) == 4
    assert second != first + 1
    assert third != second + 1


def test_blocks_lie_all_over_the_order_and_not_in_that_of_their_creation() -> None:
    rows = [("S", str(number)) for number in range(400)]
    keys = list(spread_keys(rows))
    assert keys != sorted(keys)
    quarters = [key * 4 // (SPREAD_MAX + BLOCK_UNITS_MAX) for key in keys]
    # 400 places at random: a quarter with fewer than 40 of them comes once in far more than a billion runs
    assert all(quarters.count(quarter) >= 40 for quarter in range(4))


def test_buyers_begin_all_over_the_order() -> None:
    starts = [random_start() for _ in range(400)]
    assert all(0 <= start < SPREAD_MAX for start in starts)
    assert all(sum(start * 4 // SPREAD_MAX == quarter for start in starts) >= 40 for quarter in range(4))
