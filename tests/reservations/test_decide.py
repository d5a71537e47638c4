"""Deciding in memory: whoever comes first takes from the table, all or nothing."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel.errors import Invalid
from reservations.allocation.decide import Table, refuse_by_rules
from reservations.errors import LimitExceeded, NotOnSale, UnitsUnavailable

EVENT = uuid4()
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@dataclass
class Seat:
    label: str
    status: str = "available"
    event_id: UUID = EVENT
    id: UUID = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.id = self.id or uuid4()


@dataclass(frozen=True)
class Asked:
    event_id: UUID = EVENT
    unit_ids: tuple[UUID, ...] = ()
    labels: tuple[str, ...] = ()
    quantity: int = 0
    ttl_seconds: int | None = None

    @property
    def size(self) -> int:
        return len(self.unit_ids) or len(self.labels) or self.quantity


@dataclass(frozen=True)
class Terms:
    status: str = "on_sale"
    sales_open_at: datetime | None = None
    sales_close_at: datetime | None = None
    units_per_hold_max: int = 10
    units_per_customer_max: int | None = None
    hold_ttl_seconds: int = 600
    now: datetime = NOON


def table(*seats: Seat, **fields: Any) -> Table[Seat, str]:
    laid: Table[Seat, str] = Table(**fields)
    laid.lay_named(seats)
    return laid


def test_the_first_of_two_requests_gets_the_unit_and_the_second_is_told_that_it_is_held() -> None:
    one, two = Seat("A-1"), Seat("A-2")
    laid = table(one, two)
    assert laid.take_named(Asked(labels=("A-1",))) == [one]
    with pytest.raises(UnitsUnavailable) as refused:
        laid.take_named(Asked(unit_ids=(two.id, one.id)))
    assert [(unit.label, unit.status) for unit in refused.value.units] == [("A-1", "held")]
    # the refused request took nothing
    assert laid.take_named(Asked(labels=("A-2",))) == [two]


def test_units_are_given_in_the_order_they_were_asked() -> None:
    seats = [Seat(f"A-{number}") for number in range(4)]
    asked = [seats[2], seats[0], seats[3]]
    assert table(*seats).take_named(Asked(unit_ids=tuple(seat.id for seat in asked))) == asked
    assert table(*seats).take_named(Asked(labels=tuple(seat.label for seat in asked))) == asked


@pytest.mark.parametrize("status", ["held", "sold", "blocked"])
def test_a_unit_that_is_not_available_is_named_with_its_status(status: str) -> None:
    laid = table(Seat("A-1"), Seat("A-2", status))
    with pytest.raises(UnitsUnavailable) as refused:
        laid.take_named(Asked(labels=("A-1", "A-2")))
    assert [(unit.label, unit.status) for unit in refused.value.units] == [("A-2", status)]
    assert laid.taken == set()


def test_an_unknown_unit_is_told_before_an_unavailable_one() -> None:
    laid = table(Seat("A-1", "sold"))
    with pytest.raises(Invalid) as refused:
        laid.take_named(Asked(labels=("A-1", "nowhere")))
    assert [error.place for error in refused.value.errors] == ["/labels/1"]


def test_a_unit_of_another_event_is_unknown() -> None:
    other = Seat("A-1", event_id=uuid4())
    laid = table(other)
    for asked, place in ((Asked(unit_ids=(other.id,)), "/units/0"), (Asked(labels=("A-1",)), "/labels/0")):
        with pytest.raises(Invalid) as refused:
            laid.take_named(asked)
        assert [error.place for error in refused.value.errors] == [place]


def test_any_units_come_from_what_is_free_for_that_demand_and_no_unit_comes_twice() -> None:
    seats = [Seat(f"A-{number}") for number in range(5)]
    laid: Table[Seat, str] = Table(free={"stalls": list(seats), "balcony": []})
    first, second = laid.take_any("stalls", 2), laid.take_any("stalls", 3)
    assert first is not None
    assert second is not None
    assert sorted(seat.label for seat in first + second) == [seat.label for seat in seats]
    assert laid.taken == {seat.id for seat in seats}
    assert laid.take_any("stalls", 1) is None
    assert laid.take_any("balcony", 1) is None
    assert laid.take_any("nowhere", 1) is None


def test_too_few_free_units_are_all_left_to_the_next() -> None:
    laid: Table[Seat, str] = Table(free={"stalls": [Seat("A-1"), Seat("A-2")]})
    assert laid.take_any("stalls", 3) is None
    assert laid.taken == set()
    assert len(laid.take_any("stalls", 2) or []) == 2


@given(st.integers(0, 20), st.lists(st.integers(1, 6), max_size=12))
def test_whatever_is_asked_no_unit_is_given_twice_and_no_request_gets_a_part(free: int, asked: list[int]) -> None:
    seats = [Seat(str(number)) for number in range(free)]
    laid: Table[Seat, str] = Table(free={"": list(seats)})
    left, given_out = free, []
    for quantity in asked:
        units = laid.take_any("", quantity)
        assert (units is not None) == (quantity <= left)
        if units is not None:
            assert len(units) == quantity
            left -= quantity
            given_out += [unit.id for unit in units]
    assert len(given_out) == len(set(given_out)) == free - left


@given(st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=4, unique=True), max_size=8))
def test_named_requests_are_granted_in_the_order_of_arrival(asked: list[list[int]]) -> None:
    seats = [Seat(str(number)) for number in range(8)]
    laid = table(*seats)
    taken: set[int] = set()
    for numbers in asked:
        clash = [number for number in numbers if number in taken]
        request = Asked(labels=tuple(str(number) for number in numbers))
        if not clash:
            assert [unit.label for unit in laid.take_named(request)] == list(request.labels)
            taken.update(numbers)
            continue
        with pytest.raises(UnitsUnavailable) as refused:
            laid.take_named(request)
        assert [unit.label for unit in refused.value.units] == [str(number) for number in clash]
    assert laid.taken == {seats[number].id for number in taken}


def test_an_allowance_is_used_up_by_the_requests_of_one_batch() -> None:
    laid: Table[Seat, str] = Table(in_use={"ada": 1})
    laid.refuse_over_allowance("ada", 3, 2)
    laid.use_allowance("ada", 2)
    with pytest.raises(LimitExceeded) as refused:
        laid.refuse_over_allowance("ada", 3, 1)
    assert refused.value.members == {"rule": "units_per_customer", "limit": 3, "in_use": 3, "requested": 1}
    laid.refuse_over_allowance("bob", 3, 3)
    laid.refuse_over_allowance("ada", None, 100)


def test_a_request_that_breaks_no_rule_is_let_through() -> None:
    refuse_by_rules(Asked(quantity=10, ttl_seconds=600), Terms())
    refuse_by_rules(Asked(quantity=1), Terms(sales_open_at=NOON, sales_close_at=NOON + HOUR))


def test_an_unknown_event_is_invalid_at_its_place() -> None:
    with pytest.raises(Invalid) as refused:
        refuse_by_rules(Asked(quantity=1), None)
    assert [(error.place, error.code) for error in refused.value.errors] == [("/event", "unknown")]


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        (Terms(status="draft"), "draft"),
        (Terms(status="paused"), "paused"),
        (Terms(status="closed"), "closed"),
        (Terms(sales_open_at=NOON + HOUR), "not_open_yet"),
        (Terms(sales_open_at=NOON + timedelta(microseconds=1)), "not_open_yet"),
        (Terms(sales_close_at=NOON), "window_over"),
        (Terms(sales_close_at=NOON - HOUR), "window_over"),
        (Terms(status="paused", sales_close_at=NOON - HOUR), "paused"),
    ],
)
def test_an_event_that_sells_nothing_now_says_why(terms: Terms, reason: str) -> None:
    with pytest.raises(NotOnSale) as refused:
        refuse_by_rules(Asked(quantity=1), terms)
    assert refused.value.members == {"reason": reason}


def test_a_term_over_the_events_is_invalid_and_its_own_is_fine() -> None:
    refuse_by_rules(Asked(quantity=1, ttl_seconds=60), Terms(hold_ttl_seconds=60))
    with pytest.raises(Invalid) as refused:
        refuse_by_rules(Asked(quantity=1, ttl_seconds=61), Terms(hold_ttl_seconds=60))
    assert [error.place for error in refused.value.errors] == ["/ttl_seconds"]


@pytest.mark.parametrize("way", ["quantity", "unit_ids", "labels"])
def test_more_units_than_a_hold_may_have_are_over_the_limit(way: str) -> None:
    asked = replace(Asked(), **{way: 4 if way == "quantity" else tuple(range(4))})
    refuse_by_rules(asked, Terms(units_per_hold_max=4))
    with pytest.raises(LimitExceeded) as refused:
        refuse_by_rules(asked, Terms(units_per_hold_max=3))
    assert refused.value.members == {"rule": "units_per_hold", "limit": 3, "in_use": 0, "requested": 4}
