"""Secrets at rest: what the database keeps and nobody who reads the database alone can open.

One purpose can't open what another has locked. Rotation is that of `derived_keys`: what an earlier secret key locked is
still opened, and anything locked from then on is locked with the current one.
"""

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from holdfast.kernel.derived_keys import derived_keys


class CannotDecrypt(RuntimeError):
    """It was changed, or locked for another purpose, or with a secret key that is no longer among ours."""


def encrypt(purpose: str, plain: bytes) -> bytes:
    """Lock it for this purpose: authenticated, and different each time."""
    return _keys(purpose).encrypt(plain)


def decrypt(purpose: str, locked: bytes) -> bytes:
    """Open what was locked for this purpose. Raises CannotDecrypt."""
    try:
        return _keys(purpose).decrypt(locked)
    except InvalidToken as error:
        raise CannotDecrypt(f"{purpose}: changed, or locked with a key that is gone") from error


def _keys(purpose: str) -> MultiFernet:
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key.secret)) for key in derived_keys(purpose)])
