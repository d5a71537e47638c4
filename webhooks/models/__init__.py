"""The outbox."""

from webhooks.models.message import Message

__all__ = ["Message"]
