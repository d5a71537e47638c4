"""What became of attempts, deliveries, endpoints and replays, in words. Webhooks have no event, so times are UTC."""

from collections.abc import Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from tenants.admin.wall_time import shown_to_the_second
from webhooks.egress import Outcome
from webhooks.models import LOST, DeliveryStatus, DisabledReason, ReplayState

UTC = ZoneInfo("UTC")
OUTCOMES: Mapping[str, str] = {
    Outcome.DELIVERED: "Delivered.",
    Outcome.GONE: "It answered 410: it wants no more.",
    Outcome.REDIRECTED: "It answered with a redirect, which is never followed: change the URL.",
    Outcome.REJECTED: "It answered something else than 2xx.",
    Outcome.REFUSED_URL: "The URL may not be sent to; nothing was sent.",
    Outcome.REFUSED_ADDRESS: "An address of the host is not public; nothing was sent.",
    Outcome.UNRESOLVABLE: "The host's name has no address, or none was found in time.",
    Outcome.CONNECT_FAILED: "Nobody listens there, or there is no way there.",
    Outcome.TLS_FAILED: "The certificate is not good for the name, or there was no agreement on TLS 1.2 or newer.",
    Outcome.TIMED_OUT: "No answer in time. It may have the message.",
    Outcome.RESET: "The connection ended before an answer. It may have the message.",
    Outcome.PROTOCOL_ERROR: "What it answered is no HTTP. It may have the message.",
    LOST: "HoldFast ended before it heard. It may have the message.",
}
REASONS: Mapping[str, str] = {
    DisabledReason.ORGANIZER: "A person disabled it.",
    DisabledReason.GONE: "It answered 410: it wants no more.",
    DisabledReason.FAILING: "Nothing could be delivered to it for five days.",
}
ENDPOINT_STATES = {"enabled": "success", "failing": "warning", "resting": "warning", "disabled": "danger"}
DELIVERY_STATES = {
    DeliveryStatus.PENDING.value: "info",
    DeliveryStatus.DELIVERED.value: "success",
    DeliveryStatus.DEAD.value: "danger",
}
REPLAY_STATES = {
    ReplayState.RUNNING.value: "info",
    ReplayState.DONE.value: "success",
    ReplayState.STOPPED.value: "danger",
}


def at(moment: datetime | None) -> str:
    """The instant, to the second."""
    return shown_to_the_second(moment, UTC)
