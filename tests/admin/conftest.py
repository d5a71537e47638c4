"""People in front of the admin."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from reservations.allocation.allocator import allocate
from reservations.allocation.requests import Granted, HoldRequest
from reservations.models import Event, Hold, Unit
from tenants.models import ApiKey, Membership, User
from tenants.operations.members import add_member, join
from tenants.scope import tenant_transaction


@pytest.fixture
def make_member(database_name) -> Callable[..., Membership]:
    """`make_member(tenant, "viewer", login=None)`: a new person, or the one of that login, joins so."""

    def make(tenant, role: str, login: str | None = None) -> Membership:
        login = login or f"{role}-{secrets.token_hex(6)}@example.org"
        membership, secret = add_member(tenant_id=tenant.id, login=login, role=role)
        if membership.is_invited:
            return join(user=membership.user, code=secret)
        settle(membership.user, secret)
        return membership

    return make


@pytest.fixture
def sign_in(make_member) -> Callable[..., Client]:
    """`sign_in(tenant, "manager")`: the browser of a new member."""

    def make(tenant, role: str = "owner") -> Client:
        return browser_of(make_member(tenant, role).user)

    return make


def settle(user: User, password: str) -> None:
    """They have chosen a password of their own: this one."""
    user.set_password(password)
    user.must_change_password = False
    user.save()


def browser_of(user: User) -> Client:
    """A browser in which this person is logged in."""
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def make_hold(database_name) -> Callable[..., Hold]:
    """`make_hold(tenant, event, ["A-1"])`: a hold, by the allocator."""

    def make(tenant, event: Event, labels: list[str], customer: str = "grace@example.org") -> Hold:
        request = HoldRequest(event_id=event.id, customer=customer, labels=tuple(labels))
        (outcome,) = allocate(tenant_id=tenant.id, requests=[request])
        assert isinstance(outcome, Granted), outcome
        return outcome.hold

    return make


@dataclass(frozen=True)
class Place:
    """A tenant with one of everything."""

    tenant: object
    event: Event
    unit: Unit
    hold: Hold
    membership: Membership

    @property
    def rows(self) -> dict[str, object]:
        """By the name of their pages; the key is the one that a tenant begins with."""
        with tenant_transaction(self.tenant.id):
            key = ApiKey.objects.get()
        return {
            "reservations_event": self.event.id,
            "reservations_unit": self.unit.id,
            "reservations_hold": self.hold.id,
            "tenants_membership": self.membership.id,
            "tenants_apikey": key.id,
        }


@pytest.fixture
def furnish(make_event, make_units, make_hold, make_member) -> Callable[..., Place]:
    """`furnish(tenant)`: an event with one unit free and one held, an owner, a key."""

    def make(tenant) -> Place:
        event = make_event(tenant)
        _, unit = make_units(tenant, event, labels=["A-1", "A-2"], section="Stalls", price_amount=2500)
        hold = make_hold(tenant, event, ["A-1"])
        return Place(tenant, event, unit, hold, make_member(tenant, "owner"))

    return make


def said(response) -> str:
    """The messages that the next page will show."""
    return " | ".join(str(message) for message in get_messages(response.wsgi_request))


def page(name: str, *args: object, **query: object) -> str:
    """The address of a page: `page("tenants_apikey_change", id)`, `page("reservations_unit_changelist", event=id)`."""
    address = reverse(f"admin:{name}", args=args)
    return f"{address}?{'&'.join(f'{key}={value}' for key, value in query.items())}" if query else address
