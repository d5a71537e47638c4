"""The mock provider's real server, and somebody who takes its callbacks: one of each for a whole run of a worker."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings as configured

from holdfast.kernel.ids import new_id
from reservations.checkout.mock import MockProvider
from reservations.checkout.stripe import StripeProvider
from tests.checkout.at_stripe import DEADLINE_SECONDS
from tests.checkout.sale import PRICE, Sale
from tests.support.mortal import Mortals
from tests.support.psp import Psp
from tests.support.receiver import Receiver, receiver
from tests.support.stripe_server import KEY, WEBHOOK_SECRET, Server, stripe_server
from tests.support.web import Web, granian


@pytest.fixture(scope="session")
def receiving() -> Iterator[Receiver]:
    """`receiving.url` takes callbacks; `receiving.wait_for(key)`."""
    with receiver() as running:
        yield running


@pytest.fixture
def key() -> str:
    """As the product makes them, one for each test."""
    return f"hf-{new_id()}"


@pytest.fixture
def account() -> str:
    """A payment account of this test alone."""
    return f"account-{secrets.token_hex(8)}"


@pytest.fixture
def provider(psp: Psp, account: str) -> MockProvider:
    return MockProvider(psp.url, account)


@pytest.fixture(scope="session")
def running_stripe() -> Iterator[Server]:
    with stripe_server() as running:
        yield running


@pytest.fixture
def stripe(running_stripe: Server) -> Server:
    """A server that speaks Stripe's API; `stripe.books` is what it knows, `stripe.faults` what goes wrong next."""
    running_stripe.begin_anew()
    return running_stripe


@pytest.fixture
def at_stripe(stripe: Server) -> StripeProvider:
    """The adapter, which asks that server."""
    return StripeProvider(KEY, WEBHOOK_SECRET, server=stripe.url, deadline_seconds=DEADLINE_SECONDS)


@pytest.fixture
def make_sale(
    psp: Psp, receiving: Receiver, settings: Any, make_tenant: Any, make_event: Any, make_units: Any, shift_clock: Any
) -> Callable[..., Sale]:
    """`make_sale(2, **event fields)`: so many seats, A-1, A-2, …; callbacks come to somebody who does nothing."""
    settings.MOCK_PSP_URL, settings.PUBLIC_URL = psp.url, _root(receiving.url)

    def make(units: int = 2, **fields: Any) -> Sale:
        tenant = make_tenant()
        event = make_event(tenant, **fields)
        labels = [f"A-{number}" for number in range(1, units + 1)]
        made = make_units(tenant, event, labels=labels, price_amount=PRICE)
        return Sale(tenant.id, event, made, psp, tenant.key)

    return make


@pytest.fixture
def sale(make_sale: Callable[..., Sale]) -> Sale:
    """Two seats."""
    return make_sale()


@pytest.fixture(scope="session")
def mortals(database_name: str, psp: Psp, receiving: Receiver) -> Iterator[Mortals]:
    """`mortals.run("pay", "before reservations.checkout.saga.settle", …)`: in a process that is killed there."""
    with Mortals(**psp.variables, HOLDFAST_PUBLIC_URL=_root(receiving.url)) as running:
        yield running


@pytest.fixture(scope="session")
def paying_web(database_name: str, psp: Psp, receiving: Receiver) -> Iterator[Web]:
    """A real web process, with as many threads as usual, that pays at the mock provider."""
    with granian(1, configured.WEB_THREADS, **psp.variables, HOLDFAST_PUBLIC_URL=_root(receiving.url)) as running:
        yield running


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits longer than half a second for the mock provider."""
    monkeypatch.setitem(MockProvider.__init__.__kwdefaults__, "deadline_seconds", 0.5)


def _root(url: str) -> str:
    return "{0.scheme}://{0.netloc}".format(urlsplit(url))
