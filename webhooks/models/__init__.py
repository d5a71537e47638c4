"""The outbox, and what carries it to other systems."""

from webhooks.models.attempt import LOST, Attempt
from webhooks.models.delivery import Delivery, DeliveryStatus
from webhooks.models.endpoint import AT_WORK, HEALTH, DisabledReason, Endpoint, EndpointStatus
from webhooks.models.message import Message
from webhooks.models.replay import Replay, ReplayedStatus, ReplayState

__all__ = [
    "AT_WORK",
    "HEALTH",
    "LOST",
    "Attempt",
    "Delivery",
    "DeliveryStatus",
    "DisabledReason",
    "Endpoint",
    "EndpointStatus",
    "Message",
    "Replay",
    "ReplayState",
    "ReplayedStatus",
]
