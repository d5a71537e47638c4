"""Tenants, the people and programs that act for them, and what they asked for before."""

from tenants.models.api_key import ApiKey, Scope
from tenants.models.base import TenantModel
from tenants.models.idempotency_key import IdempotencyKey
from tenants.models.membership import JOINED, Membership, Role
from tenants.models.tenant import Tenant
from tenants.models.user import User

__all__ = ["JOINED", "ApiKey", "IdempotencyKey", "Membership", "Role", "Scope", "Tenant", "TenantModel", "User"]
