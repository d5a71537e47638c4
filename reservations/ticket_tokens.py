"""The token of a ticket, as its QR code holds it. Pure: knows no database.

    HF1-3FA9C1-<80 characters>

The version, the name of the key, and 50 bytes in base32: the ticket's id, its event's, its serial, and the first 128
bits of HMAC-SHA-256 over all of these and the tenant. The version says everything about how it is made: a token can't
choose its own algorithm. It holds no personal data and can't be guessed, nor made into one of another event or tenant.

Capitals, digits and hyphens alone: an address takes them unchanged, and a QR code packs them tighter than other text.
Only that one text reads as the ticket, and not the same in small letters.

Rotation: tokens are made with the first key, and are good as long as the key that their name points to is among those
given. A ticket's next serial makes all earlier tokens of it worthless; whoever looks the ticket up compares it.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

VERSION = "HF1"
MAC_BYTES = 16
_SERIAL_BYTES = 2
_FORM = re.compile(rf"{VERSION}-([0-9A-F]{{6}})-([A-Z2-7]{{80}})", re.ASCII)


class BadToken(ValueError):
    """A text that is no token of this tenant, for whatever reason: it never says which."""


class Key(Protocol):
    """A secret with a name of six hexadecimal digits, which tells nothing about it."""

    @property
    def name(self) -> str: ...
    @property
    def secret(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Claims:
    """What a token says and its signature proves."""

    ticket_id: UUID
    event_id: UUID
    serial: int


def make_token(claims: Claims, *, tenant_id: UUID, keys: Sequence[Key]) -> str:
    """The token of a ticket of this tenant, signed with the first key."""
    return _signed(claims, tenant_id, keys[0])


def read_token(text: str, *, tenant_id: UUID, keys: Sequence[Key]) -> Claims:
    """What the token says. Raises BadToken for whatever is not, letter by letter, a token made for this tenant."""
    form = _FORM.fullmatch(text)
    key = next((key for key in keys if form and key.name.upper() == form[1]), None)
    if form is None or key is None:
        raise BadToken
    body = base64.b32decode(form[2])
    claims = Claims(UUID(bytes=body[:16]), UUID(bytes=body[16:32]), int.from_bytes(body[32:34]))
    if not hmac.compare_digest(_signed(claims, tenant_id, key), text):
        raise BadToken
    return claims


def _signed(claims: Claims, tenant_id: UUID, key: Key) -> str:
    said = claims.ticket_id.bytes + claims.event_id.bytes + claims.serial.to_bytes(_SERIAL_BYTES)
    # each part has a length of its own, so no two of them make the same message
    mac = hmac.new(key.secret, VERSION.encode() + tenant_id.bytes + said, hashlib.sha256).digest()[:MAC_BYTES]
    return f"{VERSION}-{key.name.upper()}-{base64.b32encode(said + mac).decode()}"
