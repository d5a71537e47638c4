"""Whether an endpoint answers, and what follows: a rest, a notice to its people, the end."""

from collections.abc import Sequence
from datetime import datetime

from holdfast.kernel.clock import database_now
from webhooks.egress import Answer, Outcome
from webhooks.messages import endpoint_fact
from webhooks.models import HEALTH, DisabledReason, Endpoint, EndpointStatus
from webhooks.outbox import publish
from webhooks.retry import Verdict, verdict

# one whose last answer took so long is served by the queue for slow ones
SLOW_MS = 3_000


def note_outcomes(endpoint: Endpoint, answers: Sequence[Answer], now: datetime) -> None:
    """Write down how the endpoint, which is locked, has answered, if it has; one that was disabled meanwhile is left
    alone."""
    if endpoint.status != EndpointStatus.ENABLED or not answers:
        return
    for answer in answers:
        is_well = answer.outcome == Outcome.DELIVERED
        endpoint.health = endpoint.health.after_success(now) if is_well else endpoint.health.after_failure(now)
        endpoint.is_slow = answer.duration_ms >= SLOW_MS
    endpoint.save(update_fields=[*HEALTH, "is_slow"])
    if any(answer.outcome == Outcome.GONE for answer in answers):
        _disable(endpoint, DisabledReason.GONE)
        return
    match verdict(endpoint.health, now):
        case Verdict.DISABLE:
            _disable(endpoint, DisabledReason.FAILING)
        case Verdict.GIVE_NOTICE:
            endpoint.notices += 1
            endpoint.save(update_fields=["notices"])
            publish([endpoint_fact("endpoint.failing", endpoint)])


def note_unsigned(endpoint: Endpoint, now: datetime) -> None:
    """The key that locked its secrets is gone. Its people see that it fails, and it is given rests until they rotate
    the secret or the key is back; the fault is not the receiver's, so that alone disables nothing."""
    endpoint.health = endpoint.health.after_failure(now)
    endpoint.save(update_fields=HEALTH)


def end_rest(endpoint: Endpoint) -> None:
    """A person wants to know: the breaker of the endpoint, which is locked, lets one delivery through at once."""
    if endpoint.breaker_until is not None:
        endpoint.breaker_until = database_now()
        endpoint.save(update_fields=["breaker_until"])


def _disable(endpoint: Endpoint, reason: DisabledReason) -> None:
    endpoint.status, endpoint.disabled_reason = EndpointStatus.DISABLED, reason
    endpoint.save(update_fields=["status", "disabled_reason"])
    publish([endpoint_fact("endpoint.disabled", endpoint)])
