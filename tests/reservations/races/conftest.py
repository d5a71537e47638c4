"""What every race needs: a scene to race on, and the invariants after it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reservations.allocation.allocator import allocate
from reservations.allocation.requests import Granted, HoldRequest, Outcome, Refused
from reservations.invariants.checker import breaches
from reservations.models import Event, Hold, HoldStatus, Unit, UnitStatus
from tenants.scope import tenant_transaction

ROUNDS = 20


@pytest.fixture
def keep_the_promises(tenant: Any) -> Iterator[Callable[[], None]]:
    """Call it after each round; it also runs at the end of the test."""

    def check() -> None:
        assert not any(breaches(tenant.id).values())

    yield check
    check()


@pytest.fixture
def ask(tenant: Any) -> Callable[..., Callable[[], Outcome]]:
    """`ask(event, labels=("A-1",))`: a function that asks for one hold and answers its outcome."""

    def make(event: Event, customer: str = "ada@example.org", **fields: Any) -> Callable[[], Outcome]:
        request = HoldRequest(event_id=event.id, customer=customer, **fields)
        return lambda: allocate(tenant_id=tenant.id, requests=[request])[0]

    return make


@pytest.fixture
def put_back(tenant: Any) -> Callable[[Event], None]:
    """End all holds of the event and free its units, for the next round."""

    def reset(event: Event) -> None:
        with tenant_transaction(tenant.id):
            Unit.objects.filter(event=event).update(status=UnitStatus.AVAILABLE, hold=None)
            Hold.objects.filter(event=event).delete()

    return reset


@pytest.fixture
def rows(tenant: Any) -> Callable[[Event], tuple[int, int]]:
    """How many active holds and held units the event has."""

    def count(event: Event) -> tuple[int, int]:
        with tenant_transaction(tenant.id):
            return (
                Hold.objects.filter(event=event, status=HoldStatus.ACTIVE).count(),
                Unit.objects.filter(event=event, status=UnitStatus.HELD).count(),
            )

    return count


def granted(outcomes: list[Any]) -> list[Granted]:
    """The grants among the outcomes; any exception among them is raised."""
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if isinstance(outcome, Granted)]


def refusals(outcomes: list[Any]) -> set[str]:
    """Why the others got nothing."""
    return {outcome.refusal.slug for outcome in outcomes if isinstance(outcome, Refused)}
