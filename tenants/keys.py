"""API keys as text: `hf_<prefix>_<secret>`. Pure: knows no database."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

PREFIX_BYTES = 5
SECRET_BYTES = 32
_KEY = re.compile(r"hf_([0-9a-f]{10})_([A-Za-z0-9_-]{43})", re.ASCII)


@dataclass(frozen=True, slots=True, repr=False)
class KeyText:
    """The two halves of a key; its repr never shows the secret."""

    prefix: str
    secret: str

    @property
    def sha256(self) -> bytes:
        """What is stored of the secret: it has 256 bits of its own, so a plain hash is enough."""
        return hashlib.sha256(self.secret.encode()).digest()

    @property
    def whole(self) -> str:
        return f"hf_{self.prefix}_{self.secret}"

    def __repr__(self) -> str:
        return f"KeyText(hf_{self.prefix}_…)"


def generate() -> KeyText:
    """A new key from the system's random source."""
    return KeyText(secrets.token_hex(PREFIX_BYTES), secrets.token_urlsafe(SECRET_BYTES))


def parse(text: str) -> KeyText | None:
    """The key in `text`, or None for what has not the form of one."""
    match = _KEY.fullmatch(text)
    return KeyText(match[1], match[2]) if match else None


def matches(key: KeyText, stored_sha256: bytes) -> bool:
    """Whether the key's secret is the stored one, compared in constant time."""
    return hmac.compare_digest(key.sha256, stored_sha256)
