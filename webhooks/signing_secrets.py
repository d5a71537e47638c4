"""The secrets that sign what goes to an endpoint, encrypted at rest: the current one and, while a rotation overlaps,
those before it. They are written here, read here, and shown to nobody after that."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson

from holdfast.kernel.encryption import CannotDecrypt, decrypt, encrypt
from webhooks.errors import TooManySecrets
from webhooks.models import Endpoint
from webhooks.signing import new_secret

PURPOSE = "webhook signing secrets"
# that sign at once: each makes the header of every delivery longer
SIGNING_MAX = 10


@dataclass(frozen=True, slots=True)
class _Kept:
    """`until` is the Unix time at which it stops to sign; None for the current one."""

    secret: str
    until: float | None


def first() -> tuple[str, bytes]:
    """A secret for a new endpoint, to be shown once, and `Endpoint.secrets`."""
    secret = new_secret()
    return secret, _locked([_Kept(secret, None)])


def rotated(endpoint: Endpoint, now: datetime, overlap_seconds: int) -> tuple[str, bytes]:
    """A new secret, to be shown once, and `Endpoint.secrets` with it.

    The one before signs, too, until the overlap ends, and each earlier one until its own; without an overlap none of
    them does any more. Nor do any where the key that locked them is gone: this is the way out of that. Raises
    TooManySecrets rather than have one stop before its end.
    """
    secret, ends = new_secret(), (now + timedelta(seconds=overlap_seconds)).timestamp()
    try:
        before = _opened(endpoint)
    except CannotDecrypt:
        before = []
    earlier = [_Kept(kept.secret, ends if kept.until is None else kept.until) for kept in before]
    alive = [kept for kept in earlier if overlap_seconds and kept.until is not None and kept.until > now.timestamp()]
    if len(alive) >= SIGNING_MAX:
        raise TooManySecrets(SIGNING_MAX)
    return secret, _locked([_Kept(secret, None), *alive])


def signing_secrets(endpoint: Endpoint, now: datetime) -> Sequence[str]:
    """Those that sign at this moment, the current one first. Raises CannotDecrypt where the key that locked them is
    gone."""
    return [kept.secret for kept in _opened(endpoint) if kept.until is None or kept.until > now.timestamp()]


def _locked(secrets: Sequence[_Kept]) -> bytes:
    return encrypt(PURPOSE, orjson.dumps([[kept.secret, kept.until] for kept in secrets]))


def _opened(endpoint: Endpoint) -> Sequence[_Kept]:
    return [_Kept(secret, until) for secret, until in orjson.loads(decrypt(PURPOSE, bytes(endpoint.secrets)))]
