"""The demo's content: a small studio that is a theatre, a workshop and a shop, with something of each kind on sale.

Safe to make again: what is there stays, the login gets a new password and the key a new secret, since neither can be
shown twice.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from holdfast.kernel.clock import database_now
from reservations.admin.seats import seats
from reservations.admin.slots import Timetable
from reservations.models import Event, EventKind
from reservations.operations.events import create_event, publish_event
from reservations.operations.payment_accounts import open_first_account
from reservations.operations.units import NewUnit, create_units
from tenants.models import ApiKey, Membership, Role, Scope, Tenant, User
from tenants.operations.api_keys import create_api_key, rotate_api_key
from tenants.operations.members import add_member
from tenants.operations.tenants import create_tenant
from tenants.scope import tenant_transaction

SLUG, NAME, LOGIN, KEY_NAME = "demo", "Kiln & Keel", "ada@example.org", "Demo"
ZONE = ZoneInfo("Europe/Berlin")
SECTIONS = (("Stalls", "ABCDEFGH", 20, 3200), ("Circle", "ABCDE", 20, 2600), ("Balcony", "AB", 20, 1800))
MUGS = 100
OPENS = time(10)


@dataclass(frozen=True, slots=True)
class Demo:
    """What was made, and its secrets."""

    tenant: Tenant
    api_key: str
    password: str
    show: Event
    section: str


def make_demo() -> Demo:
    """Make what is missing of the demo; answers it with a new password and a new key."""
    tenant = Tenant.objects.using("maintenance").filter(slug=SLUG).first()
    if tenant is None:
        tenant, first_key, _ = create_tenant(slug=SLUG, name=NAME)
        with tenant_transaction(tenant.id):
            ApiKey.objects.filter(id=first_key.id).update(name=KEY_NAME)
    with tenant_transaction(tenant.id):
        open_first_account(tenant.id)  # an earlier version made the demo without one
        show, *_ = [_event(tenant.id, offer) for offer in OFFERS]
        key = _new_key(tenant.id)
        password = _new_password(tenant.id)
    return Demo(tenant, key, password, show, SECTIONS[0][0])


def _event(tenant_id: UUID, offer: "Offer") -> Event:
    """The offer's event; made and put on sale with its units where it is missing."""
    event = Event.objects.filter(slug=offer.slug).first()
    if event is not None:
        return event
    day = (database_now().astimezone(ZONE) + timedelta(days=offer.days_ahead)).date()
    event = create_event(
        tenant_id=tenant_id,
        slug=offer.slug,
        name=offer.name,
        kind=offer.kind,
        currency="EUR",
        timezone=ZONE.key,
        starts_at=datetime.combine(day, offer.begins, ZONE),
    )
    create_units(tenant_id=tenant_id, event_id=event.id, units=offer.units(day))
    return publish_event(tenant_id=tenant_id, event_id=event.id)


def _show(day: date) -> list[NewUnit]:
    """300 seats: Stalls, Circle and Balcony."""
    return [
        seat
        for section, rows, last, price_amount in SECTIONS
        for seat in seats(
            section=section,
            rows=rows,
            numbers=range(1, last + 1),
            price_amount=price_amount,
            pattern="{section} {row}-{number}",
        )
    ]


def _day(day: date) -> list[NewUnit]:
    """A day of hours at two wheels."""
    timetable = Timetable(
        zone=ZONE,
        first_day=day,
        last_day=day,
        opens=OPENS,
        closes=time(18),
        length=timedelta(minutes=60),
        gap=timedelta(),
        side_by_side=2,
    )
    return list(timetable.units(section="", price_amount=4500))


def _mugs(day: date) -> list[NewUnit]:
    numbers = range(1, MUGS + 1)
    return list(seats(section="", rows=[""], numbers=numbers, price_amount=3900, pattern="Mug {number}"))


@dataclass(frozen=True, slots=True)
class Offer:
    """An event of the demo: what it is, how far ahead, and its units."""

    slug: str
    name: str
    kind: str
    days_ahead: int
    begins: time
    units: Callable[[date], list[NewUnit]]


OFFERS = (
    Offer("the-drowned-bell", "The Drowned Bell", EventKind.SEATS, 30, time(19, 30), _show),
    Offer("wheel-throwing", "An hour at the potter's wheel", EventKind.SLOTS, 1, OPENS, _day),
    Offer("harbour-mug", "Harbour mug, first firing", EventKind.ITEMS, 14, time(12), _mugs),
)


def _new_key(tenant_id: UUID) -> str:
    """The one key that a shop would have, with a new secret; another where somebody revoked it."""
    api_key = ApiKey.objects.filter(name=KEY_NAME, revoked_at=None).order_by("id").first()
    if api_key is not None:
        return rotate_api_key(tenant_id=tenant_id, api_key_id=api_key.id)[1]
    _, secret = create_api_key(tenant_id=tenant_id, name=KEY_NAME, scopes=[Scope.ADMIN])
    return secret


def _new_password(tenant_id: UUID) -> str:
    """The owner's login, with a password of this run."""
    if not Membership.objects.filter(user__username=LOGIN).exists():
        add_member(tenant_id=tenant_id, login=LOGIN, role=Role.OWNER)
    password = secrets.token_urlsafe(12)
    user = User.objects.get(username=LOGIN)
    user.set_password(password)
    user.must_change_password = False  # each start prints one of its own
    user.save(update_fields=["password", "must_change_password"])
    return password
