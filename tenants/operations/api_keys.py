"""Keys: create, rotate, revoke, and the note of their last use."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import F, Q
from django.db.models.functions import Coalesce

from holdfast.kernel.clock import Now, database_now
from holdfast.kernel.errors import Invalid, NotFound
from tenants import keys
from tenants.errors import KeyRevoked
from tenants.models import ApiKey
from tenants.scope import tenant_transaction

USE_PRECISION = timedelta(seconds=60)


def create_api_key(
    *, tenant_id: UUID, name: str, scopes: Sequence[str], expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """A new key and its whole text, which is never to be had again. Raises Invalid for an end in the past."""
    key = keys.generate()
    with tenant_transaction(tenant_id):
        if expires_at is not None and expires_at <= database_now():
            raise Invalid.at("/expires_at", "in_the_past", "Must lie in the future.")
        row = ApiKey.objects.create(
            tenant_id=tenant_id,
            name=name,
            prefix=key.prefix,
            secret_sha256=key.sha256,
            scopes=sorted(set(scopes)),
            expires_at=expires_at,
        )
    return row, key.whole


def rotate_api_key(*, tenant_id: UUID, api_key_id: UUID) -> tuple[ApiKey, str]:
    """Give the key a new prefix and secret; its id stays. Raises NotFound, KeyRevoked."""
    key = keys.generate()
    with tenant_transaction(tenant_id):
        changed = ApiKey.objects.filter(id=api_key_id, revoked_at=None).update(
            prefix=key.prefix, secret_sha256=key.sha256
        )
        row = _get(api_key_id)
        if not changed:
            raise KeyRevoked("A revoked key can't be rotated: create a new one.")
    return row, key.whole


def revoke_api_key(*, tenant_id: UUID, api_key_id: UUID) -> ApiKey:
    """End the key; a second time changes nothing. Raises NotFound."""
    with tenant_transaction(tenant_id):
        ApiKey.objects.filter(id=api_key_id).update(revoked_at=Coalesce(F("revoked_at"), Now()))
        return _get(api_key_id)


def record_use(*, tenant_id: UUID, api_key_id: UUID) -> None:
    """Note that the key was used, to the minute."""
    stale = Q(last_used_at=None) | Q(last_used_at__lt=Now() - USE_PRECISION)
    with tenant_transaction(tenant_id):
        ApiKey.objects.filter(stale, id=api_key_id).update(last_used_at=Now())


def _get(api_key_id: UUID) -> ApiKey:
    row = ApiKey.objects.filter(id=api_key_id).first()
    if row is None:
        raise NotFound
    return row
