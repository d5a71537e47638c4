"""What a key's scopes and a person's role allow."""

from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from tenants.authentication import Principal
from tenants.models import Role, Scope


class HasScope(BasePermission):
    """The view names the scopes that serve it in `scopes`; `read` serves every GET unless `readable` is False.

    Raises NotAuthenticated (401) without a key, PermissionDenied (403) without the scope.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        principal = request.auth
        if not isinstance(principal, Principal):
            raise NotAuthenticated("Send an API key: Authorization: Bearer hf_…")
        serving = {Scope.ADMIN, *getattr(view, "scopes", ())}
        if request.method in SAFE_METHODS and getattr(view, "readable", True):
            serving.add(Scope.READ)
        if not serving & principal.scopes:
            raise PermissionDenied(f"This call needs one of the scopes {', '.join(sorted(serving))}.")
        return True


class Action:
    """What a person may do in the admin; the names are used by every app's admin."""

    READ = "read"
    MANAGE_EVENTS = "manage_events"
    RELEASE = "release"
    REFUND = "refund"
    REDEEM = "redeem"
    MANAGE_TEAM = "manage_team"
    MANAGE_PAYMENTS = "manage_payments"
    MANAGE_WEBHOOKS = "manage_webhooks"


_MANAGING = frozenset(
    {Action.READ, Action.MANAGE_EVENTS, Action.RELEASE, Action.REFUND, Action.REDEEM, Action.MANAGE_WEBHOOKS}
)
ALLOWED: Mapping[str, frozenset[str]] = {
    Role.OWNER: _MANAGING | {Action.MANAGE_TEAM, Action.MANAGE_PAYMENTS},
    Role.MANAGER: _MANAGING,
    Role.SUPPORT: frozenset({Action.READ, Action.RELEASE, Action.REDEEM}),
    Role.SCANNER: frozenset({Action.REDEEM}),
    Role.VIEWER: frozenset({Action.READ}),
}


def role_may(role: str, action: str) -> bool:
    """Whether a member of this role may do that."""
    return action in ALLOWED.get(role, frozenset())
