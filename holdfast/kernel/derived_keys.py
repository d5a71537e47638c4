"""Keys for one purpose each, derived from the secret key: what signs tickets can't open credentials.

Rotation: put the new secret into HOLDFAST_SECRET_KEY and the old one into HOLDFAST_SECRET_KEY_FALLBACKS. New things are
made with the first key; old ones are read with whichever fits.
"""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.conf import settings


@dataclass(frozen=True, slots=True)
class DerivedKey:
    """32 bytes, and a short name that tells nothing about them."""

    name: str
    secret: bytes = field(repr=False)


def derived_keys(purpose: str) -> Sequence[DerivedKey]:
    """The keys of this purpose, the current one first, then those of earlier secrets.

    Each is HMAC-SHA-256 of the purpose under the secret: one block of HKDF-Expand (RFC 5869, 2.3), for secrets that are
    random already.
    """
    return [_derived(secret, purpose) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]


def _derived(secret: str, purpose: str) -> DerivedKey:
    key = hmac.new(secret.encode(), purpose.encode() + b"\x01", hashlib.sha256).digest()
    return DerivedKey(hashlib.sha256(b"name of a key" + key).hexdigest()[:6], key)
