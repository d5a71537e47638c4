"""Identifiers: UUIDv7 (RFC 9562), so that ids sort by the time they were made."""

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """A new UUIDv7, greater than every earlier one of this process."""
    return uuid7()
