"""The fixtures of all tests.

Tests run against a real database and a real Redis, as the app role, and commit for real: no transaction is rolled back
around them. What keeps them apart is the product's own wall: each test makes a tenant of its own.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.hashers import ScryptPasswordHasher
from django.db import connections
from django.test.utils import CaptureQueriesContext

from reservations.models import Event, Unit
from reservations.operations import events
from reservations.operations.units import NewUnit, create_units
from tenants.models import Scope, Tenant
from tenants.operations.api_keys import create_api_key
from tenants.operations.tenants import create_tenant
from tenants.scope import tenant_transaction
from tests.support import database, redis_database, together
from tests.support.client import Api
from tests.support.psp import Psp, mock_psp
from tests.support.web import Web, granian


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rounds", type=int, default=20, help="how often each test marked `gate` runs its scenario")


@pytest.fixture(scope="session")
def rounds(request: pytest.FixtureRequest) -> range:
    """`for number in rounds:` in a scenario of chance, which finds more the longer it runs."""
    return range(request.config.getoption("--rounds"))


@pytest.fixture(scope="session")
def database_name(
    request: pytest.FixtureRequest, django_test_environment: None, django_db_blocker: Any
) -> Iterator[str]:
    """The database of this test process: made, provisioned, dropped at the end. With it goes a Redis of its own."""
    worker = getattr(request.config, "workerinput", {}).get("workerid", "main")
    with (
        django_db_blocker.unblock(),
        redis_database.redis_of_this_process(),
        database.database_of_this_process(worker) as name,
    ):
        yield name


@pytest.fixture(scope="session")
def django_db_setup(database_name: str) -> None:
    """In place of pytest-django's own, which would make the tables as the owner and test as that."""


@pytest.fixture(scope="session", autouse=True)
def _cheap_passwords() -> None:
    """A hash says what it cost, so every process can check one that cost nearly nothing. Hundreds are made here."""
    ScryptPasswordHasher.work_factor = 2


@dataclass(frozen=True)
class TestTenant:
    """A tenant of one test, and the whole text of its admin key."""

    __test__ = False

    tenant: Tenant
    key: str

    @property
    def id(self) -> UUID:
        return self.tenant.id

    @property
    def slug(self) -> str:
        return self.tenant.slug


@pytest.fixture
def make_tenant(database_name: str) -> Callable[..., TestTenant]:
    """`make_tenant(slug=None)`: a new tenant with a key of scope admin."""

    def make(slug: str | None = None) -> TestTenant:
        tenant, _, key = create_tenant(slug=slug or f"t-{secrets.token_hex(8)}")
        return TestTenant(tenant, key)

    return make


@pytest.fixture
def tenant(make_tenant: Callable[..., TestTenant]) -> TestTenant:
    return make_tenant()


@pytest.fixture
def make_key() -> Callable[..., str]:
    """`make_key(tenant, scopes=["holds"], expires_at=None)`: the whole text of a new key."""

    def make(tenant: TestTenant, scopes: Sequence[str] = (Scope.ADMIN,), **fields: Any) -> str:
        _, text = create_api_key(tenant_id=tenant.id, name="Test key", scopes=scopes, **fields)
        return text

    return make


@pytest.fixture
def make_event() -> Callable[..., Event]:
    """`make_event(tenant, status="on_sale", **fields)`: an event that sells, or is in the status asked for."""
    moves = {
        "draft": (),
        "on_sale": (events.publish_event,),
        "paused": (events.publish_event, events.pause_event),
        "closed": (events.publish_event, events.close_event),
    }

    def make(tenant: TestTenant, status: str = "on_sale", **fields: Any) -> Event:
        fields = {"name": "A show", "kind": "seats", "currency": "EUR", "timezone": "Europe/Berlin"} | fields
        fields.setdefault("slug", f"show-{secrets.token_hex(6)}")
        event = events.create_event(tenant_id=tenant.id, **fields)
        for move in moves[status]:
            event = move(tenant_id=tenant.id, event_id=event.id)
        return event

    return make


@pytest.fixture
def make_units() -> Callable[..., list[Unit]]:
    """`make_units(tenant, event, 3)` or `make_units(tenant, event, labels=["A-1"])`: the new units, in that order."""

    def make(
        tenant: TestTenant, event: Event, count: int = 1, labels: Sequence[str] | None = None, **fields: Any
    ) -> list[Unit]:
        labels = labels or [f"U-{secrets.token_hex(4)}-{number}" for number in range(count)]
        create_units(tenant_id=tenant.id, event_id=event.id, units=[NewUnit(label=label, **fields) for label in labels])
        with tenant_transaction(tenant.id):
            made = {unit.label: unit for unit in Unit.objects.filter(event_id=event.id, label__in=labels)}
        return [made[label] for label in labels]

    return make


@pytest.fixture
def api(database_name: str) -> Callable[[TestTenant | str | None], Api]:
    """`api(tenant)`, `api(key)`, `api(None)`: a client with that key, or with none."""

    def make(who: TestTenant | str | None) -> Api:
        return Api(who.key if isinstance(who, TestTenant) else who)

    return make


class Statements(list[str]):
    """The statements of a block, in order; filled when the block ends."""

    @property
    def count(self) -> int:
        return len(self)


@pytest.fixture
def queries(database_name: str) -> Callable[..., Any]:
    """`with queries() as seen:` counts what this thread sends, BEGIN, COMMIT and set_config included.

    The health check of a reused connection is not among them.
    """

    @contextmanager
    def count(alias: str = "default") -> Iterator[Statements]:
        seen = Statements()
        with CaptureQueriesContext(connections[alias]) as captured:
            yield seen
        seen += [query["sql"] for query in captured.captured_queries]

    return count


@pytest.fixture
def run_together(database_name: str) -> Callable[..., list[Any]]:
    """`run_together([f, g], deadline_seconds=30)`: see `tests.support.together`."""
    return together.run_together


@pytest.fixture
def shift_clock(database_name: str) -> Iterator[Callable[[float], None]]:
    """`shift_clock(600)`: it is ten minutes later, for every process on this database. Ends with the test."""
    yield database.advance_clock
    database.reset_clock()


@pytest.fixture(scope="session")
def web(database_name: str) -> Iterator[Web]:
    """A real web process on this database, one for the whole run of a worker: `web.api(tenant).get(path)`."""
    with granian() as running:
        yield running


@pytest.fixture(scope="session")
def psp() -> Iterator[Psp]:
    """`psp.url`, `psp.charges(key)`, `psp.refunds(charge)`; `psp.variables` for a process that shall use it."""
    with mock_psp() as running:
        yield running
