"""`Authorization: Bearer hf_…` to a principal. Looked up across tenants by the maintenance role, since the key names
the tenant; kept in process for a few seconds, so a revoked key is dead within `KEY_CACHE_SECONDS`."""

from dataclasses import dataclass
from threading import Lock
from uuid import UUID

from cachetools import TTLCache
from django.db.models import Q
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from holdfast.kernel.clock import Now
from tenants import keys
from tenants.models import ApiKey
from tenants.operations.api_keys import record_use

KEY_CACHE_SECONDS = 4
KEY_CACHE_ENTRIES_MAX = 10_000
USE_RECORDED_EVERY_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is asking: an API key and its tenant; `name` is for people to read."""

    api_key_id: UUID
    tenant_id: UUID
    scopes: frozenset[str]
    secret_sha256: bytes
    name: str

    is_authenticated = True


_known: TTLCache[str, Principal | None] = TTLCache(KEY_CACHE_ENTRIES_MAX, KEY_CACHE_SECONDS)
_recorded: TTLCache[UUID, bool] = TTLCache(KEY_CACHE_ENTRIES_MAX, USE_RECORDED_EVERY_SECONDS)
_lock = Lock()


class ApiKeyAuthentication(BaseAuthentication):
    """The API key in the Authorization header. Raises AuthenticationFailed (401) for any that is not good."""

    def authenticate(self, request: Request) -> tuple[Principal, Principal] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header:
            return None
        scheme, _, text = header.partition(" ")
        key = keys.parse(text.strip()) if scheme.lower() == "bearer" else None
        principal = _principal(key.prefix) if key else None
        if key is None or principal is None or not keys.matches(key, principal.secret_sha256):
            raise AuthenticationFailed("The API key is missing, wrong, expired or revoked.")
        _record(principal)
        return principal, principal

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="HoldFast"'


def _principal(prefix: str) -> Principal | None:
    with _lock:
        if prefix in _known:
            return _known[prefix]
    alive = Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=Now()))
    row = ApiKey.everywhere.filter(alive, prefix=prefix).first()
    found = _principal_of(row) if row else None
    with _lock:
        _known[prefix] = found
    return found


def _principal_of(row: ApiKey) -> Principal:
    name = f"API key {row.name} (hf_{row.prefix}_…)"
    return Principal(row.id, row.tenant_id, frozenset(row.scopes), bytes(row.secret_sha256), name)


def _record(principal: Principal) -> None:
    with _lock:
        if principal.api_key_id in _recorded:
            return
        _recorded[principal.api_key_id] = True
    record_use(tenant_id=principal.tenant_id, api_key_id=principal.api_key_id)
