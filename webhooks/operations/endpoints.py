"""Endpoints: create, change, enable, disable, delete, rotate the secret, ping."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction

from holdfast.kernel.clock import database_now
from holdfast.kernel.errors import FieldError, Invalid, NotFound
from tenants.scope import hold_name, tenant_transaction
from webhooks import signing_secrets
from webhooks.egress import UrlRefused, check_url
from webhooks.errors import EndpointDisabled, TooManyEndpoints
from webhooks.health import end_rest
from webhooks.locks import lock_endpoint, lock_listening
from webhooks.message_types import PATTERNS
from webhooks.messages import endpoint_fact
from webhooks.models import HEALTH, Delivery, DisabledReason, Endpoint, EndpointStatus
from webhooks.outbox import publish
from webhooks.queries.endpoints import endpoints
from webhooks.retry import Health
from webhooks.wake import wake_deliverers

ENDPOINTS_MAX = 50
OVERLAP_SECONDS = 24 * 3600
OVERLAP_SECONDS_MAX = 7 * OVERLAP_SECONDS


def create_endpoint(*, tenant_id: UUID, url: str, events: Sequence[str], description: str = "") -> tuple[Endpoint, str]:
    """The new endpoint and its secret, which is shown this once. It is told what is committed from now on.

    Raises Invalid, TooManyEndpoints.
    """
    _check(url=url, events=events, description=description)
    secret, locked = signing_secrets.first()
    with tenant_transaction(tenant_id):
        # of two who make one at once, the second counts what the first has made
        hold_name(b"webhook endpoints" + tenant_id.bytes)
        if endpoints().count() >= ENDPOINTS_MAX:
            raise TooManyEndpoints(ENDPOINTS_MAX)
        endpoint = Endpoint.objects.create(
            tenant_id=tenant_id, url=url, events=_distinct(events), description=description, secrets=locked
        )
        lock_listening()
        return endpoint, secret


def change_endpoint(*, tenant_id: UUID, endpoint_id: UUID, **changes: Any) -> Endpoint:
    """Change `url`, `events` and `description`, as many of them as are given. What is on its way goes to the new URL at
    its next attempt. Raises NotFound, Invalid."""
    _check(**changes)
    if "events" in changes:
        changes["events"] = _distinct(changes["events"])
    with tenant_transaction(tenant_id):
        return _change(_locked(endpoint_id), **changes)


def disable_endpoint(*, tenant_id: UUID, endpoint_id: UUID) -> Endpoint:
    """Nothing more is sent to it: what is on its way waits, and what happens meanwhile can be replayed. A second time
    changes nothing. Raises NotFound."""
    with tenant_transaction(tenant_id):
        endpoint = _locked(endpoint_id)
        if endpoint.status == EndpointStatus.DISABLED:
            return endpoint
        return _change(endpoint, status=EndpointStatus.DISABLED, disabled_reason=DisabledReason.ORGANIZER)


def enable_endpoint(*, tenant_id: UUID, endpoint_id: UUID) -> Endpoint:
    """It is told again, what waited for it first, and its failures are forgotten; so also ends the rest of one that is
    enabled. What is committed from now on is told, however long ago it was written. Raises NotFound."""
    with tenant_transaction(tenant_id):
        endpoint = _locked(endpoint_id)
        endpoint.health = Health(last_success_at=endpoint.last_success_at)
        endpoint.save(update_fields=HEALTH)
        _change(endpoint, status=EndpointStatus.ENABLED, disabled_reason=None)
        _wake(endpoint)
        lock_listening()
        return endpoint


def delete_endpoint(*, tenant_id: UUID, endpoint_id: UUID) -> None:
    """It is gone for everybody, and its secrets at once; its deliveries are removed in the background. Raises
    NotFound."""
    with tenant_transaction(tenant_id):
        endpoint = _locked(endpoint_id)
        reason = endpoint.disabled_reason or DisabledReason.ORGANIZER
        fields = {"status": EndpointStatus.DISABLED, "disabled_reason": reason, "secrets": b""}
        _change(endpoint, deleted_at=database_now(), **fields)


def rotate_secret(
    *, tenant_id: UUID, endpoint_id: UUID, overlap_seconds: int = OVERLAP_SECONDS
) -> tuple[Endpoint, str]:
    """The endpoint and its new secret, which is shown this once. The one before signs, too, for so many seconds (a week
    at most); with 0 the new one alone. Raises NotFound, Invalid."""
    if not 0 <= overlap_seconds <= OVERLAP_SECONDS_MAX:
        raise Invalid.at("/overlap_seconds", "out_of_range", f"Must be 0 to {OVERLAP_SECONDS_MAX}.")
    with tenant_transaction(tenant_id):
        endpoint = _locked(endpoint_id)
        secret, locked = signing_secrets.rotated(endpoint, database_now(), overlap_seconds)
        return _change(endpoint, secrets=locked), secret


def ping_endpoint(*, tenant_id: UUID, endpoint_id: UUID) -> UUID:
    """Send it a message about itself, whatever it has asked for; the id of the delivery. Raises NotFound,
    EndpointDisabled."""
    with tenant_transaction(tenant_id):
        endpoint = _locked(endpoint_id)
        if endpoint.status == EndpointStatus.DISABLED:
            raise EndpointDisabled
        end_rest(endpoint)
        (message_id,) = publish([endpoint_fact("ping", endpoint, only_to=endpoint.id)])
        _wake(endpoint)
        return Delivery.objects.values_list("id", flat=True).get(message_id=message_id)


def _locked(endpoint_id: UUID) -> Endpoint:
    endpoint = lock_endpoint(endpoint_id)
    if endpoint is None:
        raise NotFound
    return endpoint


def _change(endpoint: Endpoint, **fields: Any) -> Endpoint:
    for name, value in fields.items():
        setattr(endpoint, name, value)
    endpoint.save(update_fields=list(fields))
    return endpoint


def _wake(endpoint: Endpoint) -> None:
    transaction.on_commit(partial(wake_deliverers, endpoint.tenant_id, endpoint.id, is_slow=endpoint.is_slow))


def _distinct(events: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(events))


def _check(*, url: str | None = None, events: Sequence[str] | None = None, description: str = "") -> None:
    faults = []
    if url is not None:
        try:
            check_url(url)
        except UrlRefused as refused:
            faults.append(FieldError("/url", "invalid", f"The URL {refused}."))
    if events is not None:
        faults += _faults_of_events(events)
    if len(description) > Endpoint.DESCRIPTION_LENGTH_MAX:
        faults.append(
            FieldError("/description", "too_long", f"Must have at most {Endpoint.DESCRIPTION_LENGTH_MAX} characters.")
        )
    if faults:
        raise Invalid(faults)


def _faults_of_events(events: Sequence[str]) -> list[FieldError]:
    if not 1 <= len(events) <= Endpoint.EVENTS_MAX:
        return [FieldError("/events", "out_of_range", f"Must be 1 to {Endpoint.EVENTS_MAX} types or patterns.")]
    return [
        FieldError(f"/events/{place}", "unknown", "Must be a type of messages, or a pattern such as hold.*")
        for place, pattern in enumerate(events)
        if pattern not in PATTERNS
    ]
