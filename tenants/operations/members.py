"""Members: add, join, change a role, remove. A tenant keeps at least one owner.

A login is one for the whole platform, and whoever adds it first is shown its password. So a tenant that adds a login
that was there only invites it: the person joins by a code that this tenant's owner gives them.

What changes a team locks the tenant's row first, so two owners who demote each other at once are one after the other.
"""

import hashlib
import hmac
import secrets
from datetime import timedelta
from uuid import UUID

from holdfast.kernel.clock import Now
from holdfast.kernel.errors import Conflict, Invalid, NotFound
from tenants.models import JOINED, Membership, Role, Tenant, User
from tenants.scope import tenant_transaction

PASSWORD_BYTES = 12
JOIN_CODE_BYTES = 16
JOIN_CODE_LASTS = timedelta(days=7)


def add_member(*, tenant_id: UUID, login: str, role: str) -> tuple[Membership, str]:
    """Make the person of a new login a member, or invite that of a login that was there; answers the new login's
    password, which they must change, or the code by which the invited person joins. Each is kept nowhere.

    Raises Invalid for a login that is a member or invited already.
    """
    with tenant_transaction(tenant_id):
        _lock_team(tenant_id)
        user, is_new = User.objects.get_or_create(username=login, defaults={"must_change_password": True})
        if Membership.objects.filter(user=user).exists():
            raise Invalid.at("/login", "taken", "This login is a member already, or is invited.")
        membership = Membership(tenant_id=tenant_id, user=user, role=role)
        if is_new:
            secret = secrets.token_urlsafe(PASSWORD_BYTES)
            user.set_password(secret)
            user.save(update_fields=["password"])
        else:
            secret = secrets.token_urlsafe(JOIN_CODE_BYTES)
            membership.join_code_sha256 = _sha256(secret)
            membership.join_code_expires_at = Now() + JOIN_CODE_LASTS
        membership.save(force_insert=True)
    return membership, secret


def join(*, user: User, code: str) -> Membership:
    """Make the invitation of this person that the code is for a membership; the code is used up.

    Called outside of any tenant's transaction. Raises Conflict while the person's password is one that somebody else
    was shown; Invalid for a code that is none of theirs, was used, or is over.
    """
    if user.must_change_password:
        raise Conflict("Choose a password of your own first.")
    given = _sha256(code.strip())
    for invited in Membership.everywhere.filter(user=user).exclude(JOINED):
        if not hmac.compare_digest(given, bytes(invited.join_code_sha256 or b"")):
            continue
        with tenant_transaction(invited.tenant_id):
            still = Membership.objects.filter(id=invited.id, join_code_sha256=given, join_code_expires_at__gt=Now())
            if still.update(join_code_sha256=None, join_code_expires_at=None):
                return _get(invited.id)
    raise Invalid.at("/code", "unknown", "This code is not for your login, was used, or is over: ask for a new one.")


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
    """End the membership or take back the invitation; the login stays. Raises NotFound; Conflict when it is the last
    owner's."""
    with tenant_transaction(tenant_id):
        _lock_team(tenant_id)
        membership = _get(membership_id)
        _refuse_last_owner(membership)
        membership.delete()


def _sha256(code: str) -> bytes:
    """What is stored of a code: it has 128 bits of its own, so a plain hash is enough."""
    return hashlib.sha256(code.encode()).digest()


def _lock_team(tenant_id: UUID) -> None:
    Tenant.objects.select_for_update(no_key=True).get(id=tenant_id)


def _get(membership_id: UUID) -> Membership:
    membership = Membership.objects.select_related("user", "tenant").filter(id=membership_id).first()
    if membership is None:
        raise NotFound
    return membership


def _refuse_last_owner(membership: Membership) -> None:
    """An owner who is only invited is none yet, and keeps nobody else's place."""
    others = Membership.objects.filter(JOINED, role=Role.OWNER).exclude(id=membership.id)
    if membership.role == Role.OWNER and not membership.is_invited and not others.exists():
        raise Conflict(f"{membership.user} is the last owner: make another member owner first.")
