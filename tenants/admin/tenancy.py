"""Which tenant a person is in: one at a time, kept in their session, judged anew on each request.

Read across tenants by the maintenance role, so a membership that was ended counts no more at once.
"""

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.http import HttpRequest

from tenants.models import JOINED, Membership, Role, Tenant, User

SESSION_KEY = "tenant_id"
CHOICES_MAX = 200


@dataclass(frozen=True, slots=True)
class Tenancy:
    """The tenant of a request, if there is one, and the person's role in it; and what else they could choose.

    `lost` says that the tenant they had chosen is not theirs any more.
    """

    tenant: Tenant | None
    role: str
    choices: tuple[Tenant, ...]
    lost: bool


NOWHERE = Tenancy(tenant=None, role="", choices=(), lost=False)


def enter(request: HttpRequest) -> Tenancy:
    """Read the person's tenancy and note it on the request and in the session."""
    chosen = request.session.get(SESSION_KEY)
    found = _tenancy(request.user, chosen)
    if found.tenant and chosen != str(found.tenant.id):
        request.session[SESSION_KEY] = str(found.tenant.id)
    request.tenancy = found  # type: ignore[attr-defined]
    request.tenant, request.role = found.tenant, found.role  # type: ignore[attr-defined]
    return found


def tenancy_of(request: HttpRequest) -> Tenancy:
    """What `enter` noted on the request."""
    tenancy: Tenancy = getattr(request, "tenancy", NOWHERE)
    return tenancy


def role_of(request: HttpRequest) -> str:
    """The person's role in the request's tenant; empty where there is none."""
    return tenancy_of(request).role


def choose(request: HttpRequest, slug: str) -> bool:
    """Change to another tenant; False, and no change, for one that is unknown or not theirs."""
    wanted = Tenant.objects.using("maintenance").filter(slug=slug).first()
    if wanted is None or not (request.user.is_superuser or _memberships(request.user).filter(tenant=wanted).exists()):
        return False
    request.session[SESSION_KEY] = str(wanted.id)
    return True


def has_a_tenant(user: User) -> bool:
    """Whether the admin has anything for this person: platform staff, or a member of any tenant, or invited to one."""
    return user.is_superuser or Membership.everywhere.filter(user=user).exists()


def _memberships(user: User | AnonymousUser) -> QuerySet[Membership]:
    """Those that count, by the tenant's name; nobody's, for someone who is not logged in."""
    theirs = Membership.everywhere.filter(JOINED, user_id=user.pk or 0)
    return theirs.select_related("tenant").order_by("tenant__name", "id")


def _tenancy(user: User | AnonymousUser, chosen: str | None) -> Tenancy:
    if user.is_superuser:
        return _of_staff(chosen)
    memberships = list(_memberships(user)[:CHOICES_MAX])
    if not memberships:
        return NOWHERE
    current = _memberships(user).filter(tenant_id=chosen).first() if chosen else None
    shown = current or memberships[0]
    choices = tuple(one.tenant for one in memberships)
    return Tenancy(shown.tenant, shown.role, choices, lost=chosen is not None and current is None)


def _of_staff(chosen: str | None) -> Tenancy:
    tenants = Tenant.objects.using("maintenance")
    choices = tuple(tenants.order_by("name", "id")[:CHOICES_MAX])
    if not choices:
        return NOWHERE
    current = tenants.filter(id=chosen).first() if chosen else None
    return Tenancy(current or choices[0], Role.OWNER, choices, lost=chosen is not None and current is None)
