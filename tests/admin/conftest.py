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
from reservations.models import Difference, DifferenceKind, Event, Hold, Order, PaymentAccount, Ticket, Unit
from tenants.models import ApiKey, Membership, User
from tenants.operations.members import add_member, join
from tenants.scope import tenant_transaction
from tests.reservations.state import sell
from webhooks.models import Delivery
from webhooks.operations.endpoints import create_endpoint, ping_endpoint


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
    """A tenant with one of everything; with an order, its ticket and a difference only if they were asked for."""

    tenant: object
    event: Event
    unit: Unit
    hold: Hold
    ticket: Ticket | None
    membership: Membership
    delivery: Delivery

    @property
    def rows(self) -> dict[str, object]:
        """By the name of their pages; the key and the account are those that a tenant begins with."""
        with tenant_transaction(self.tenant.id):
            key, account = ApiKey.objects.get(), PaymentAccount.objects.get()
            difference = Difference.objects.first()
        return {
            "reservations_event": self.event.id,
            "reservations_unit": self.unit.id,
            "reservations_hold": self.hold.id,
            "reservations_ticket": self.ticket and self.ticket.id,
            "reservations_order": self.ticket and self.ticket.order_id,
            "reservations_difference": difference and difference.id,
            "reservations_paymentaccount": account.id,
            "tenants_membership": self.membership.id,
            "tenants_apikey": key.id,
            "webhooks_endpoint": self.delivery.endpoint_id,
            "webhooks_delivery": self.delivery.id,
        }


@pytest.fixture
def make_tickets(make_units, make_hold) -> Callable[..., list[Ticket]]:
    """`make_tickets(tenant, event, ["T-1"])`: new units, sold to a customer, and their tickets in that order."""

    def make(tenant, event: Event, labels: list[str], customer: str = "grace@example.org") -> list[Ticket]:
        make_units(tenant, event, labels=labels)
        hold = make_hold(tenant, event, labels, customer)
        sell(tenant.id, hold.id)
        with tenant_transaction(tenant.id):
            made = {ticket.label: ticket for ticket in Ticket.objects.filter(order__hold=hold)}
        return [made[label] for label in labels]

    return make


@pytest.fixture
def furnish(make_event, make_units, make_hold, make_tickets, make_member) -> Callable[..., Place]:
    """`furnish(tenant, sold=False)`: an event with one unit free, one held and perhaps one sold, an owner, a key."""

    def make(tenant, *, sold: bool = False) -> Place:
        event = make_event(tenant)
        _, unit = make_units(tenant, event, labels=["A-1", "A-2"], section="Stalls", price_amount=2500)
        hold = make_hold(tenant, event, ["A-1"])
        ticket = make_tickets(tenant, event, ["A-3"])[0] if sold else None
        if ticket:
            make_difference(tenant, ticket.order_id)
        return Place(tenant, event, unit, hold, ticket, make_member(tenant, "owner"), make_ping(tenant))

    return make


def make_ping(tenant) -> Delivery:
    """A new endpoint, which nobody listens at, and the ping that is on its way there."""
    url = f"https://{secrets.token_hex(8)}.example.org/hooks"
    endpoint, _ = create_endpoint(tenant_id=tenant.id, url=url, events=["hold.*"])
    delivery_id = ping_endpoint(tenant_id=tenant.id, endpoint_id=endpoint.id)
    with tenant_transaction(tenant.id):
        return Delivery.objects.get(id=delivery_id)


def make_difference(tenant, order_id, **fields) -> Difference:
    """As reconciliation would write it: of an order, or of none."""
    fields = {"kind": DifferenceKind.AMOUNT, "here": "25.00 EUR", "there": "24.00 EUR"} | fields
    fields.setdefault("reference", f"ch_{secrets.token_hex(8)}")
    with tenant_transaction(tenant.id):
        account = PaymentAccount.objects.get()
        return Difference.objects.create(tenant_id=tenant.id, account=account, order_id=order_id, **fields)


@pytest.fixture
def make_order(psp, settings, api, make_units, make_hold) -> Callable[..., Order]:
    """`make_order(tenant, event, ["A-1"], method="tok_ok")`: new units at 25.00, ordered over the API, and paid so."""
    settings.MOCK_PSP_URL = psp.url

    def make(tenant, event: Event, labels: list[str], method: str = "tok_ok", price: int = 2500, **who: str) -> Order:
        make_units(tenant, event, labels=labels, price_amount=price)
        hold = make_hold(tenant, event, labels, **who)
        wish = {"hold": str(hold.id), "buyer": {"name": "Grace H.", "email": "grace@example.org"}}
        wish |= {"payment": {"method": method}} if price else {}
        answer = api(tenant).post("/v1/orders", wish, headers={"Idempotency-Key": secrets.token_hex(8)})
        assert answer.status_code in {201, 202, 402}, answer.text
        return order_of(tenant, hold=hold)

    return make


def order_of(tenant, **which) -> Order:
    """The order as it is now."""
    with tenant_transaction(tenant.id):
        return Order.objects.select_related("hold", "event").get(**which)


def said(response) -> str:
    """The messages that the next page will show."""
    return " | ".join(str(message) for message in get_messages(response.wsgi_request))


def page(name: str, *args: object, **query: object) -> str:
    """The address of a page: `page("tenants_apikey_change", id)`, `page("reservations_unit_changelist", event=id)`."""
    address = reverse(f"admin:{name}", args=args)
    return f"{address}?{'&'.join(f'{key}={value}' for key, value in query.items())}" if query else address
