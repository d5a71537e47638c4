"""Many requests in one transaction: each is answered as if it had come alone, in the order of arrival."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest

from holdfast.kernel.errors import Invalid
from reservations.allocation.allocator import allocate
from reservations.allocation.requests import Granted, HoldRequest, Outcome, Refused
from reservations.errors import LimitExceeded, SoldOut, UnitsUnavailable
from reservations.models import Event, Unit
from tenants.idempotency import Claim
from tenants.models import ApiKey
from tenants.scope import tenant_transaction
from tests.reservations.state import rows_of


@dataclass(frozen=True)
class Hall:
    """A tenant, its event, its units, and the principal that its claims are made by."""

    tenant_id: UUID
    event: Event
    units: list[Unit]
    principal_id: UUID

    def ask(self, customer: str = "ada", key: str | None = None, body: bytes = b"x", **choice: Any) -> HoldRequest:
        claim = Claim(self.principal_id, key, body * 32) if key else None
        return HoldRequest(**{"event_id": self.event.id, "customer": customer, "claim": claim} | choice)

    def decide(self, *requests: HoldRequest) -> Sequence[Outcome]:
        return allocate(tenant_id=self.tenant_id, requests=requests)


@pytest.fixture
def make_hall(
    make_tenant: Callable[..., Any], make_event: Callable[..., Event], make_units: Callable[..., list[Unit]]
) -> Callable[..., Hall]:
    def make(units: int = 3, **fields: Any) -> Hall:
        tenant = make_tenant()
        event = make_event(tenant, **fields)
        made = make_units(tenant, event, labels=[f"U-{number}" for number in range(1, units + 1)])
        with tenant_transaction(tenant.id):
            principal = ApiKey.objects.get()
        return Hall(tenant.id, event, made, principal.id)

    return make


def refusals(outcomes: Sequence[Outcome]) -> list[type[Exception] | None]:
    return [type(outcome.refusal) if isinstance(outcome, Refused) else None for outcome in outcomes]


def labels(outcome: Outcome) -> list[str]:
    assert isinstance(outcome, Granted), outcome
    return [item["label"] for item in outcome.body["items"]]


def test_nothing_asked_is_nothing_answered(make_hall: Callable[..., Hall]) -> None:
    hall = make_hall()
    assert hall.decide() == []
    assert rows_of(hall.tenant_id) == {"holds": 0, "units": {"available": 3}}


def test_of_two_who_want_one_unit_the_first_gets_it(make_hall: Callable[..., Hall]) -> None:
    hall = make_hall()
    first, second, third = hall.decide(
        hall.ask("ada", labels=("U-1", "U-2")), hall.ask("bob", unit_ids=(hall.units[1].id,)), hall.ask(labels=("U-3",))
    )
    assert labels(first) == ["U-1", "U-2"]
    assert isinstance(second, Refused)
    assert isinstance(second.refusal, UnitsUnavailable)
    assert [unit.document() for unit in second.refusal.units] == [
        {"unit": str(hall.units[1].id), "label": "U-2", "status": "held"}
    ]
    assert labels(third) == ["U-3"]
    assert rows_of(hall.tenant_id) == {"holds": 2, "units": {"held": 3}}


def test_a_refused_request_costs_no_other_its_answer(make_hall: Callable[..., Hall]) -> None:
    hall = make_hall(4, units_per_hold_max=2)
    outcomes = hall.decide(
        hall.ask(quantity=3),
        hall.ask(quantity=1, event_id=uuid4()),
        hall.ask(labels=("nowhere",)),
        hall.ask(quantity=1, section="nowhere"),
        hall.ask(quantity=1, ttl_seconds=601),
        hall.ask(quantity=2),
        hall.ask(quantity=2),
        hall.ask(quantity=1),
    )
    wanted = [LimitExceeded, Invalid, Invalid, Invalid, Invalid, None, None, SoldOut]
    assert refusals(outcomes) == wanted
    assert rows_of(hall.tenant_id) == {"holds": 2, "units": {"held": 4}}


def test_named_units_are_not_given_to_those_who_take_any(make_hall: Callable[..., Hall]) -> None:
    hall = make_hall(3)
    any_two, named, one_more = hall.decide(
        hall.ask(quantity=2), hall.ask("bob", labels=("U-2",)), hall.ask("cem", quantity=1)
    )
    assert labels(named) == ["U-2"]
    assert sorted(labels(any_two)) == ["U-1", "U-3"]
    assert refusals([one_more]) == [SoldOut]


def test_a_named_unit_that_its_request_does_not_get_is_left_for_those_who_take_any(
    make_hall: Callable[..., Hall],
) -> None:
    hall = make_hall(2)
    outcomes = hall.decide(hall.ask(labels=("U-1", "nowhere")), hall.ask("bob", quantity=2))
    assert refusals(outcomes) == [Invalid, None]
