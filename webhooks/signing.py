"""Signatures of deliveries, as Standard Webhooks has them (https://www.standardwebhooks.com): receivers check them with
that project's libraries.

What is signed is `id.timestamp.body`, the body being the very bytes that are sent: whoever signs text and sends other
bytes (another escape, another order) sends what nobody can check. Pure.
"""

import base64
import hashlib
import hmac
import re
import secrets as random
from collections.abc import Sequence

PREFIX = "whsec_"
SECRET_BYTES = 32
BLANK = "[blanked]"
# base64 as it comes back: in an URL, in JSON with its slashes escaped, in HTML
_BASE64 = r"(?:[A-Za-z0-9+/=_\\-]|%[0-9A-Fa-f]{2}|&#x?[0-9A-Fa-f]{2,3};)"
_OF_OURS = re.compile(rf"{PREFIX}{_BASE64}*|v1(?:,|%2C|&#44;){_BASE64}{{8,}}", re.IGNORECASE)


def new_secret() -> str:
    """A secret of an endpoint, as its owner is shown it."""
    return PREFIX + base64.b64encode(random.token_bytes(SECRET_BYTES)).decode()


def sign(message_id: str, at: int, body: bytes, secrets: Sequence[str]) -> str:
    """A signature by each secret, separated by spaces: while a rotation overlaps there are two, and a receiver that
    knows either is content. `at` is the Unix time of this attempt, in seconds. Raises ValueError for what is no secret
    of ours and for none.
    """
    if not secrets:
        raise ValueError("nothing to sign with")
    signed = b"%b.%d.%b" % (message_id.encode(), at, body)
    return " ".join(f"v1,{_mac(_key(secret), signed)}" for secret in secrets)


def signed_headers(message_id: str, at: int, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """The headers of one attempt. Each has a time of its own, as receivers refuse what is minutes old; the id stays."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(at),
        "webhook-signature": sign(message_id, at, body, secrets),
    }


def blanked(text: str, signatures: str) -> str:
    """What a receiver has answered, without the secrets and signatures that it may have repeated: those in our form,
    and what was just sent as `signatures` also without it."""
    text = _OF_OURS.sub(BLANK, text)
    for signature in signatures.split(" "):
        text = text.replace(signature.removeprefix("v1,"), BLANK)
    return text


def _key(secret: str) -> bytes:
    key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    if not (key and secret.startswith(PREFIX)):
        raise ValueError("no secret of a webhook")
    return key


def _mac(key: bytes, signed: bytes) -> str:
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
