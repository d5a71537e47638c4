"""Refusals about tenants and keys.

Refusal (holdfast.kernel.errors)
├── BadTenant                 422  a slug or a name that can't be one
├── SlugTaken                 422
└── Conflict
    └── KeyRevoked            409
"""

from holdfast.kernel.errors import Conflict, Refusal


class BadTenant(Refusal):
    status, slug, title = 422, "invalid", "That can't be a tenant"


class SlugTaken(Refusal):
    status, slug, title = 422, "invalid", "The slug is taken"


class KeyRevoked(Conflict):
    slug, title = "key-revoked", "The API key is revoked"
