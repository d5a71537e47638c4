"""Members: add, change a role, remove. A tenant keeps at least one owner.

Each locks the tenant's row first, so two owners who demote each other at once are one after the other.
"""

import secrets
from uuid import UUID

from holdfast.kernel.errors import Conflict, Invalid, NotFound
from tenants.models import Membership, Role, Tenant, User
from tenants.scope import tenant_transaction

PASSWORD_BYTES = 12


def add_member(*, tenant_id: UUID, login: str, role: str) -> tuple[Membership, str | None]:
    """Make the person of this login a member; answers the password of a login that was new, and None for one that was
    there. Raises Invalid for a login that is a member already."""
    with tenant_transaction(tenant_id):
        _lock_team(tenant_id)
        user, is_new = User.objects.get_or_create(username=login)
        password = secrets.token_urlsafe(PASSWORD_BYTES) if is_new else None
        if is_new:
            user.set_password(password)
            user.save(update_fields=["password"])
        if Membership.objects.filter(user=user).exists():
            raise Invalid.at("/login", "taken", "This login is a member already.")
        membership = Membership.objects.create(tenant_id=tenant_id, user=user, role=role)
    return membership, password


def change_role(*, tenant_id: UUID, membership_id: UUID, role: str) -> Membership:
    """Give the member another role. Raises NotFound; Conflict when it is the last owner's."""
    with tenant_transaction(tenant_id):
        _lock_team(tenant_id)
        membership = _get(membership_id)
        if role != Role.OWNER:
            _refuse_last_owner(membership)
        membership.role = role
        membership.save(update_fields=["role"])
    return membership


def remove_member(*, tenant_id: UUID, membership_id: UUID) -> None:
    """End the membership; the login stays. Raises NotFound; Conflict when it is the last owner's."""
    with tenant_transaction(tenant_id):
        _lock_team(tenant_id)
        membership = _get(membership_id)
        _refuse_last_owner(membership)
        membership.delete()


def _lock_team(tenant_id: UUID) -> None:
    Tenant.objects.select_for_update(no_key=True).get(id=tenant_id)


def _get(membership_id: UUID) -> Membership:
    membership = Membership.objects.select_related("user").filter(id=membership_id).first()
    if membership is None:
        raise NotFound
    return membership


def _refuse_last_owner(membership: Membership) -> None:
    others = Membership.objects.filter(role=Role.OWNER).exclude(id=membership.id)
    if membership.role == Role.OWNER and not others.exists():
        raise Conflict(f"{membership.user} is the last owner: make another member owner first.")
