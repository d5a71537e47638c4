"""How the mock provider signs its callbacks: what both sides must agree on.

`Mock-Signature: t=<Unix seconds>,v1=<hex>`, where v1 is HMAC-SHA-256 of `<t>.<raw body>`. Each account has a secret of
its own, derived from the secret key: nothing has to be exchanged, and nobody can sign for another account.
"""

import hashlib
import hmac
import re
import time
from collections.abc import Sequence

from holdfast.kernel.derived_keys import derived_keys
from reservations.checkout.provider import BadSignature

HEADER = "Mock-Signature"
AGE_SECONDS_MAX = 300
_FORM = re.compile(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})")


def callback_secrets(account_id: str) -> Sequence[bytes]:
    """The secrets of this account, the current one first, then those of earlier secret keys."""
    keys = derived_keys("mock callbacks")
    return [hmac.digest(key.secret, account_id.encode(), hashlib.sha256) for key in keys]


def sign(body: bytes, secret: bytes, at: int) -> str:
    """The header's value for this body, signed at this Unix time."""
    return f"t={at},v1={_mac(body, secret, str(at))}"


def check(body: bytes, signature: str, secrets: Sequence[bytes]) -> None:
    """Raise BadSignature unless one of the secrets signed exactly this body in the last five minutes."""
    form = _FORM.fullmatch(signature)
    if form is None:
        raise BadSignature("the signature has another form")
    at, mac = form.groups()
    if abs(time.time() - int(at)) > AGE_SECONDS_MAX:
        raise BadSignature("signed at another time")
    matches = [hmac.compare_digest(mac, _mac(body, secret, at)) for secret in secrets]
    if not any(matches):
        raise BadSignature("signed by somebody else")


def _mac(body: bytes, secret: bytes, at: str) -> str:
    return hmac.new(secret, at.encode() + b"." + body, hashlib.sha256).hexdigest()
