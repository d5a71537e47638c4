"""A sale: a tenant, its client, an event and its units, so that each test says only what it is about."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from reservations.models import Event, Unit
from tests.contract.listener import Listener
from tests.contract.sale import Sale
from tests.contract.till import Till
from tests.support.client import Api
from tests.support.hooks import Hooks, receiving_hooks
from tests.support.psp import Psp


@pytest.fixture
def make_sale(
    make_tenant: Callable[..., Any],
    make_event: Callable[..., Event],
    make_units: Callable[..., list[Unit]],
    api: Callable[..., Api],
) -> Callable[..., Sale]:
    """`make_sale(3, tenant=None, section="", price_amount=0, **event fields)`; labels are U-1, U-2, …"""

    def make(
        units: int | Sequence[str] = 3, *, tenant: Any = None, section: str = "", price_amount: int = 0, **fields: Any
    ) -> Sale:
        tenant = tenant or make_tenant()
        event = make_event(tenant, **fields)
        labels = [f"U-{number}" for number in range(1, units + 1)] if isinstance(units, int) else list(units)
        made = make_units(tenant, event, labels=labels, section=section, price_amount=price_amount) if labels else []
        return Sale(tenant, api(tenant), event, made)

    return make


@pytest.fixture
def sale(make_sale: Callable[..., Sale]) -> Sale:
    """Three seats on sale."""
    return make_sale()


@pytest.fixture
def make_till(
    make_sale: Callable[..., Sale], psp: Psp, settings: Any, shift_clock: Callable[[float], None]
) -> Callable[..., Till]:
    """`make_till(2)`: a sale of so many units at 25.00 each, paid for at the mock provider; else as `make_sale`."""
    settings.MOCK_PSP_URL = psp.url

    def make(units: int = 2, *, price_amount: int = 2500, **fields: Any) -> Till:
        return Till(make_sale(units, price_amount=price_amount, **fields), psp)

    return make


@pytest.fixture
def client(tenant: Any, api: Callable[..., Api]) -> Api:
    """A client of a tenant that has nothing yet."""
    return api(tenant)


@pytest.fixture(scope="session")
def hooks() -> Iterator[Hooks]:
    """`hooks.place().url` takes deliveries."""
    with receiving_hooks() as running:
        yield running


@pytest.fixture
def make_listener(
    hooks: Hooks, make_tenant: Callable[..., Any], api: Callable[..., Api], shift_clock: Any
) -> Callable[..., Listener]:
    """`make_listener(tenant=None, events=["hold.*"])`: a tenant with one endpoint that listens."""

    def make(tenant: Any = None, **fields: Any) -> Listener:
        tenant = tenant or make_tenant()
        listener = Listener(tenant, api(tenant), hooks)
        listener.listen(**fields)
        return listener

    return make


@pytest.fixture
def listener(make_listener: Callable[..., Listener]) -> Listener:
    return make_listener()
