"""A customer is a text that a client chose; two spellings of one address are one customer. Pure."""

import hashlib
import unicodedata
from uuid import UUID


def normalised(text: str) -> str:
    """The text trimmed, in NFKC and casefolded; empty where nothing is left of it.

    Casefolding may undo a normal form (Unicode Standard, 3.13, toNFKC_Casefold), hence the second pass.
    """
    once = unicodedata.normalize("NFKC", text.strip()).casefold()
    return unicodedata.normalize("NFKC", once).strip()


def customer_key(text: str) -> bytes:
    """What limits and filters compare: the SHA-256 of the normalised text, 32 bytes."""
    return hashlib.sha256(normalised(text).encode("utf-8", "surrogatepass")).digest()


def allowance_lock_name(event_id: UUID, key: bytes) -> bytes:
    """The name under which the customer's use of the event's limit is locked."""
    return b"customer" + event_id.bytes + key
